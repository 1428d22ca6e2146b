/** @file nn.functional: linear maps and convolutions. Their signatures are those of their operators. */
import { aten } from "../aten.js";

export const linear = aten("linear");
export const bilinear = aten("bilinear");
export const conv1d = aten("conv1d");
export const conv2d = aten("conv2d");
export const conv3d = aten("conv3d");
export const conv_transpose1d = aten("conv_transpose1d");
export const conv_transpose2d = aten("conv_transpose2d");
export const conv_transpose3d = aten("conv_transpose3d");
export const conv_tbc = aten("conv_tbc");
