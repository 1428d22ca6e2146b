import { describe, expect, it } from "vitest";
import * as torch from "../index.js";
import { functional } from "../api/index.js";
import type { Tensor } from "../tensor/index.js";

const f64 = (x: readonly number[]): Tensor => torch.tensor([...x], { dtype: torch.float64 });

/** Equal up to a relative error, NaN and infinities included. */
function expectClose(got: readonly number[], want: readonly number[], tolerance = 1e-11): void {
  expect(got.length).toBe(want.length);
  want.forEach((w, i) => {
    const ok = Object.is(got[i], w) || got[i] === w || Math.abs(got[i] - w) <= tolerance * Math.max(Math.abs(w), 1e-3);
    if (!ok) expect.fail(`element ${i}: expected ${w}, got ${got[i]}`);
  });
}

/** Values of PyTorch 2.13 in float64: operator, arguments, results. */
const rows: [string, number[], number[]][] = [
  [
    "special_bessel_j0",
    [-6.5, -0.5, 0.0, 2.25, 11.0],
    [0.2600945910226773, 0.938469807240813, 1.0, 0.08274985128875299, -0.17119030043848998],
  ],
  [
    "special_bessel_j1",
    [-6.5, -0.5, 0.0, 2.25, 11.0],
    [0.1538412500704471, -0.24226845767487387, 0.0, 0.548378356647001, -0.17678529902504123],
  ],
  [
    "special_modified_bessel_i0",
    [-6.5, -0.5, 0.0, 2.25, 11.0],
    [106.29285824399558, 1.0634833707413236, 1.0, 2.7270783071907956, 7288.489339821248],
  ],
  [
    "special_modified_bessel_i1",
    [-6.5, -0.5, 0.0, 2.25, 11.0],
    [-97.73501077403145, -0.25789430539089636, 0.0, 2.0039674569295935, 6948.858659812163],
  ],
  [
    "special_i0e",
    [-6.5, -0.5, 0.0, 2.25, 11.0],
    [0.15980484901763223, 0.6450352704491501, 1.0, 0.2874319388973915, 0.1217301681665896],
  ],
  [
    "special_i1",
    [-6.5, -0.5, 0.0, 2.25, 11.0],
    [-97.73501077403145, -0.25789430539089636, 0.0, 2.0039674569295935, 6948.858659812163],
  ],
  [
    "special_i1e",
    [-6.5, -0.5, 0.0, 2.25, 11.0],
    [-0.1469386457237642, -0.15642080318487173, 0.0, 0.2112166160075904, 0.1160577581698902],
  ],
  [
    "special_bessel_y0",
    [-1.0, 0.0, 0.75, 3.5, 20.0],
    [NaN, -Infinity, -0.13717276938577236, 0.18902194391898433, 0.06264059680937392],
  ],
  [
    "special_bessel_y1",
    [-1.0, 0.0, 0.75, 3.5, 20.0],
    [NaN, -Infinity, -1.0375945507692854, 0.4101884179457801, -0.16551161436251308],
  ],
  [
    "special_modified_bessel_k0",
    [-1.0, 0.0, 0.75, 3.5, 20.0],
    [NaN, Infinity, 0.6105824221164639, 0.01959889717036849, 5.741237815336524e-10],
  ],
  [
    "special_modified_bessel_k1",
    [-1.0, 0.0, 0.75, 3.5, 20.0],
    [NaN, Infinity, 0.9495804669621402, 0.022239392925923834, 5.883057969557038e-10],
  ],
  [
    "special_scaled_modified_bessel_k0",
    [-1.0, 0.0, 0.75, 3.5, 20.0],
    [NaN, Infinity, 1.2926029977639613, 0.6490263376886884, 0.2785448766571822],
  ],
  [
    "special_scaled_modified_bessel_k1",
    [-1.0, 0.0, 0.75, 3.5, 20.0],
    [NaN, Infinity, 2.010261864333922, 0.7364675480289125, 0.28542549694072644],
  ],
  [
    "special_airy_ai",
    [-8.0, -1.0, 0.0, 1.5, 5.0],
    [-0.05270505035638643, 0.5355608832923521, 0.3550280538878172, 0.07174949700810533, 0.00010834442813607433],
  ],
  [
    "special_spherical_bessel_j0",
    [-3.0, 0.0, 0.25, 7.0],
    [0.0470400026866224, 1.0, 0.9896158370180917, 0.09385522838839844],
  ],
  [
    "special_erfcx",
    [-3.0, 0.0, 0.5, 4.9, 5.1, 40.0, 1000000.0],
    [
      16205.988853999586, 1.0, 0.6156903441929258, 0.11287909055975874, 0.10861102631393281, 0.014100335983377815,
      5.641895835474742e-7,
    ],
  ],
  [
    "special_log_ndtr",
    [-30.0, -2.0, 0.0, 3.0],
    [-454.32124395634327, -3.7831843336820317, -0.6931471805599453, -0.0013508099647481923],
  ],
  [
    "special_ndtri",
    [0.0, 1e-20, 0.05, 0.3, 0.5, 0.99, 1.0, 1.5],
    [-Infinity, -9.262340089798409, -1.6448536269514729, -0.5244005127080409, 0.0, 2.3263478740408408, Infinity, NaN],
  ],
  ["special_entr", [-1.0, 0.0, 0.5, 2.0], [-Infinity, 0.0, 0.34657359027997264, -1.3862943611198906]],
  [
    "lgamma",
    [-1.5, 0.0, 0.25, 3.0, 50.0],
    [0.860047015376481, Infinity, 1.2880225246980774, 0.6931471805599453, 144.5657439463449],
  ],
  [
    "digamma",
    [-1.5, 0.25, 3.0, 50.0],
    [0.7031566406452433, -4.2274535333762655, 0.922784335098467, 3.9019896734278925],
  ],
];

describe("special functions in float64", () => {
  it.each(rows)("%s", (name, x, want) => {
    const f = (functional as unknown as Record<string, (x: Tensor) => Tensor>)[name];
    expectClose(f(f64(x)).tolist() as number[], want);
  });
  it("incomplete gamma functions, large and degenerate arguments included", () => {
    const a = f64([0.5, 3, 10, 50, 200, 2, 2, 0, 1, 1000]);
    const x = f64([0.2, 5, 2, 60, 190, 0, Infinity, 1, -1, 1000]);
    const lower = [
      0.47291074313446185,
      0.8753479805169189,
      4.649807501726378e-5,
      0.9155933188030979,
      0.24334742710062393,
      0,
      1,
      1,
      NaN,
      0.5042052441217048,
    ];
    // PyTorch's expansion for large arguments uses π in float32, hence the tolerance.
    expectClose(torch.igamma(a, x).tolist() as number[], lower, 1e-8);
    expectClose(
      torch.igammac(a, x).tolist() as number[],
      lower.map((v) => 1 - v),
      1e-8,
    );
  });
  it("zeta and polygamma, for negative arguments too", () => {
    const q = f64([1, 0.5, -1.5, -2, 30]);
    const three = f64([3]);
    expectClose(functional.special_zeta(three, q).tolist() as number[], [
      1.202056903159594,
      8.414398322117158,
      0.11810202582086413,
      Infinity,
      0.0005743826018642998,
    ]);
    expectClose(
      torch.polygamma(3, f64([1, 0.5, -1.5, 30])).tolist() as number[],
      [6.493939402266829, 97.40909103400242, 194.59427621918758, 7.786003664736127e-5],
    );
  });
});
