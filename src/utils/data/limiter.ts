/** @file At most so many asynchronous tasks at a time. */

/** Starts tasks in order, `limit` at a time. What gives its result at once takes no place. */
export class Limiter {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  constructor(private readonly limit: number) {}

  run<T>(task: () => T | Promise<T>): T | Promise<T> {
    if (this.running < this.limit) return this.start(task);
    return new Promise<void>((resolve) => this.waiting.push(resolve)).then(() => this.start(task));
  }

  private start<T>(task: () => T | Promise<T>): T | Promise<T> {
    let result: T | Promise<T>;
    try {
      result = task();
    } catch (error) {
      this.release();
      throw error;
    }
    if (result instanceof Promise) {
      this.running++;
      return result.finally(() => {
        this.running--;
        this.release();
      });
    }
    this.release();
    return result;
  }

  private release(): void {
    this.waiting.shift()?.();
  }
}
