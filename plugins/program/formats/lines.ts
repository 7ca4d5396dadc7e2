/** Maps positions in a string to line numbers. */
export class LineIndex {
  readonly #starts: number[] = [0];

  constructor(text: string) {
    for (let at = 0; (at = text.indexOf("\n", at) + 1) > 0;) {
      this.#starts.push(at);
    }
  }

  /** Returns the line number for a position. The first line has the number 1. */
  at(position: number): number {
    let low = 0;
    let high = this.#starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle]! <= position) low = middle;
      else high = middle;
    }
    return low + 1;
  }

  get count(): number {
    return this.#starts.length;
  }
}
