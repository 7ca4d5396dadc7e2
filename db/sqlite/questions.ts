import type { QuestionStore } from "../questions.js";
export const questionStore = (): QuestionStore => {
  throw new Error();
};
