/** @file Determinants and their logarithms, by LU factorization. */
import type { Tensor } from "../tensor/index.js";
import { checkFloatingOrComplex, checkSquare, columnsOf } from "./linalg_checks.js";
import { adjoint } from "./linalg_triangular.js";
import { op, type Torch } from "./registry.js";

/** PyTorch factors the transpose of real contiguous matrices; who looks at the factors sees it. */
const factorsTranspose = (a: Tensor): boolean => a.is_contiguous() && !a.is_complex();

/** 1 or -1, as the number of exchanges is even or odd, in the type of the matrix. */
function signOfExchanges(t: Torch, lu: Tensor, pivots: Tensor): Tensor {
  const own = t.arange(1, columnsOf(lu) + 1, 1, { dtype: pivots.dtype, device: lu.device });
  const odd = t.remainder(t.sum(t.ne(pivots, own), -1), 2);
  return t._to_copy(t.rsub(t.mul(odd, 2), 1), { dtype: lu.dtype });
}

const diagonal = (t: Torch, x: Tensor): Tensor => t.diagonal(x, 0, -2, -1);
const scaledIdentity = (t: Torch, like: Tensor, factor: Tensor): Tensor =>
  t.diag_embed(t.expand(t.unsqueeze(factor, -1), like.shape.slice(0, -1)));

/**
 * The cotangent of the determinant: det(A)* A⁻ᴴ, which is the transpose of the adjugate. Where U has a zero on its
 * diagonal, a number too small to matter stands for it, and so a singular matrix gets its cofactors too.
 */
function detGrad(t: Torch, a: Tensor, dy: Tensor): Tensor {
  const [lu, pivots] = t._lu_factor(a);
  const tiny = a.dtype.to_real().bits === 64 ? 2 ** -52 : 2 ** -23;
  const zeros = t._to_copy(t.eq(diagonal(t, lu), 0), { dtype: a.dtype });
  const regular = t.add(lu, t.diag_embed(t.mul(zeros, tiny)));
  const scaled = scaledIdentity(t, a, t.mul(dy, t.conj(product(t, regular, pivots))));
  return t.linalg_lu_solve(regular, pivots, scaled, { adjoint: true });
}

const product = (t: Torch, lu: Tensor, pivots: Tensor): Tensor =>
  t.mul(t.prod(diagonal(t, lu), -1), signOfExchanges(t, lu, pivots));

op("_det(Tensor A, bool transposed) -> (Tensor result, Tensor LU, Tensor pivots)", {
  decompose: (t, { A, transposed }) => {
    const [lu, pivots] = t._lu_factor(transposed ? t.transpose(A, -2, -1) : A);
    return [product(t, lu, pivots), lu, pivots];
  },
  grad: (t, { A }, [dy]) => ({ A: detGrad(t, A, dy) }),
  nonDifferentiableOutputs: [1, 2],
  doc: "Determinants, with the factorization of A or of its transpose.",
});

function det(t: Torch, a: Tensor): Tensor[] {
  checkSquare(a, "linalg.det");
  checkFloatingOrComplex(a, "linalg.det");
  return t._det(a, factorsTranspose(a));
}

op("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", {
  composite: (t, { A }) => det(t, A),
  doc: "`linalg.det`, with the factorization.",
});
op("linalg_det(Tensor A) -> Tensor", {
  composite: (t, { A }) => det(t, A)[0],
  doc: "Determinants of square matrices.",
});
op("det(Tensor self) -> Tensor", { composite: (t, { self }) => det(t, self)[0], doc: "`linalg.det`." });

op("_slogdet(Tensor A, bool transposed) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", {
  decompose: (t, { A, transposed }) => {
    const [lu, pivots] = t._lu_factor(transposed ? t.transpose(A, -2, -1) : A);
    const d = diagonal(t, lu);
    const sign = t.mul(t.prod(t.sgn(d), -1), signOfExchanges(t, lu, pivots));
    return [sign, t.sum(t.log(t.abs(d)), -1), lu, pivots];
  },
  grad: (t, { A }, [dSign, dLog], [sign]) => {
    let scale = dLog;
    if (A.is_complex()) {
      const turn = t.imag(t.mul(t.conj(dSign), sign));
      scale = t.complex(dLog, t.neg(turn));
    }
    return { A: t._solve(adjoint(t, A), scaledIdentity(t, A, scale), true)[0] };
  },
  nonDifferentiableOutputs: [2, 3],
  doc: "Signs of determinants and logarithms of their absolute values, with the factorization.",
});

function slogdet(t: Torch, a: Tensor, name = "linalg.slogdet"): Tensor[] {
  checkSquare(a, name);
  checkFloatingOrComplex(a, name);
  return t._slogdet(a, factorsTranspose(a));
}

op("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", {
  composite: (t, { A }) => slogdet(t, A),
  doc: "`linalg.slogdet`, with the factorization.",
});
op("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", {
  composite: (t, { A }) => slogdet(t, A).slice(0, 2),
  doc: "Signs (or phases) of determinants, and logarithms of their absolute values.",
});
op("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", {
  composite: (t, { self }) => slogdet(t, self).slice(0, 2),
  doc: "`linalg.slogdet`.",
});
op("logdet(Tensor self) -> Tensor", {
  composite: (t, { self }) => {
    const [sign, logabsdet] = slogdet(t, self, "logdet");
    return self.is_complex() ? t.add(t.log(sign), logabsdet) : t.masked_fill(logabsdet, t.eq(sign, -1), NaN);
  },
  doc: "Logarithms of determinants; NaN for negative ones.",
});
