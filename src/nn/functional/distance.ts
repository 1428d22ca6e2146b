/** @file nn.functional: distances. Their signatures are those of their operators. */
import { aten } from "../aten.js";

export const cosine_similarity = aten("cosine_similarity");
export const pairwise_distance = aten("pairwise_distance");
export const pdist = aten("pdist");
