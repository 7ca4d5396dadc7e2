import type { PollStore } from "../polls.js";
export const pollStore = (): PollStore => {
  throw new Error();
};
