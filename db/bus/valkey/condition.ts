/** Lets one caller at a time wait until something is so. */
export class Condition {
  #check = () => {};

  /** Something may have become so. */
  check(): void {
    this.#check();
  }

  /** @param timeout in milliseconds. @returns false if it is not so in time. */
  until(isSo: () => boolean, timeout: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (result: boolean) => {
        clearTimeout(timer);
        this.#check = () => {};
        resolve(result);
      };
      const timer = setTimeout(() => end(false), timeout);
      this.#check = () => {
        if (isSo()) end(true);
      };
      this.#check();
    });
  }
}
