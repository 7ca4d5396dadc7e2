/** What a test tells a process to do. */
export interface Order {
  order: number;
  method: string;
  args: unknown[];
}

/** What became of an {@link Order}. */
export interface Answer {
  order: number;
  result: unknown;
}

/**
 * Carries out the orders of the process that started this one.
 * @param run does what an order says. It must not fail.
 */
export function obey(run: (method: string, args: unknown[]) => unknown): void {
  process.on("message", (message: Partial<Order> | null) => {
    // The bus and orders share the channel, as in a cluster.
    if (message?.order === undefined) return;
    const { order, method, args } = message as Order;
    void Promise.resolve(run(method, args)).then((result) => {
      const answer: Answer = { order, result };
      process.send!(answer, undefined, undefined, () => {});
    });
  });
}
