// What the state of an item of a room, a question or a poll, says.

/** Whether people who may read questions see one in a state. */
export const isVisible = (question: { readonly state: string }): boolean =>
  question.state === "visible";

/** Whether people who may read polls see one in a state. */
export const isPublic = ({ state }: { readonly state: string }): boolean =>
  state === "open" || state === "closed";

/** Whether the results of a poll are final: they are frozen, and all who see it see them. */
export const isOver = ({ state }: { readonly state: string }): boolean =>
  state === "closed" || state === "archived";
