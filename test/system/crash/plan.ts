/** How long and with which choices the crash tests run. */
export function plan(fewRounds: number): { rounds: number; seed: number } {
  const { ROUNDS, SEED } = process.env;
  return {
    rounds: Number(ROUNDS ?? fewRounds),
    seed: Number(SEED ?? Math.floor(Math.random() * 2 ** 31)),
  };
}
