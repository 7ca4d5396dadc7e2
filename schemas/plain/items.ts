// Interprets the states of a room's questions and polls.

/** Whether a question in this state is visible to all users who may read questions. */
export const isVisible = (question: { readonly state: string }): boolean =>
  question.state === "visible";

/** Whether a poll in this state is visible to all users who may read polls. */
export const isPublic = ({ state }: { readonly state: string }): boolean =>
  state === "open" || state === "closed";

/** Whether a poll's results are final. Final results are frozen, and visible to everybody who sees the poll. */
export const isOver = ({ state }: { readonly state: string }): boolean =>
  state === "closed" || state === "archived";
