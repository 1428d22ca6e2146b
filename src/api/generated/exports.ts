export const methodNames: readonly string[] = [];
export const inplaceNames: readonly string[] = [];
