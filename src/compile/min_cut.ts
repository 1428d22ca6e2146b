/** @file The cheapest set of vertices that separates two others: Dinic's algorithm on split vertices. */

/** A directed graph whose vertices have a price; edges are free and cannot be cut. */
export class CutGraph {
  // Vertex v is the pair 2v (in) and 2v+1 (out), joined by an edge of the vertex's price.
  private readonly head: number[] = [];
  private readonly to: number[] = [];
  private readonly capacity: number[] = [];
  private readonly next: number[] = [];
  readonly source = this.vertex(Infinity);
  readonly sink = this.vertex(Infinity);

  /** A new vertex. */
  vertex(price: number): number {
    const v = this.head.length / 2;
    this.head.push(-1, -1);
    this.arc(2 * v, 2 * v + 1, price);
    return v;
  }

  /** Whatever flows out of `from` may flow into `to`. */
  edge(from: number, to: number): void {
    this.arc(2 * from + 1, 2 * to, Infinity);
  }

  private arc(from: number, to: number, capacity: number): void {
    for (const [a, b, c] of [
      [from, to, capacity],
      [to, from, 0],
    ]) {
      this.to.push(b);
      this.capacity.push(c);
      this.next.push(this.head[a]);
      this.head[a] = this.to.length - 1;
    }
  }

  /** The vertices to cut, of the least price in all, so that the sink cannot be reached. */
  minCut(): number[] {
    const s = 2 * this.source + 1;
    const t = 2 * this.sink;
    for (let level = this.levels(s); level[t] >= 0; level = this.levels(s)) {
      const cursor = [...this.head];
      while (this.push(s, t, level, cursor) > 0);
    }
    const reached = this.levels(s);
    const cut: number[] = [];
    for (let v = 0; v < this.head.length / 2; v++) if (reached[2 * v] >= 0 && reached[2 * v + 1] < 0) cut.push(v);
    return cut;
  }

  /** Distances from `s` along arcs with room; -1 where none leads. */
  private levels(s: number): Int32Array {
    const level = new Int32Array(this.head.length).fill(-1);
    level[s] = 0;
    const queue = [s];
    for (let i = 0; i < queue.length; i++) {
      for (let e = this.head[queue[i]]; e >= 0; e = this.next[e]) {
        if (this.capacity[e] <= 0 || level[this.to[e]] >= 0) continue;
        level[this.to[e]] = level[queue[i]] + 1;
        queue.push(this.to[e]);
      }
    }
    return level;
  }

  /** Sends flow along one path of growing level. Returns how much; 0 when no path is left. */
  private push(s: number, t: number, level: Int32Array, cursor: number[]): number {
    const path: number[] = [];
    let at = s;
    while (at !== t) {
      let e = cursor[at];
      while (e >= 0 && !(this.capacity[e] > 0 && level[this.to[e]] === level[at] + 1)) e = this.next[e];
      cursor[at] = e;
      if (e >= 0) {
        path.push(e);
        at = this.to[e];
        continue;
      }
      const back = path.pop();
      if (back === undefined) return 0;
      at = this.to[back ^ 1];
      cursor[at] = this.next[cursor[at]]; // a dead end
    }
    const flow = Math.min(...path.map((e) => this.capacity[e]));
    if (flow === Infinity) throw new Error("minCut(): expected a cut, got a path that cannot be cut");
    for (const e of path) {
      this.capacity[e] -= flow;
      this.capacity[e ^ 1] += flow;
    }
    return flow;
  }
}
