import type { Question } from "../../../../db/contract/questions.js";
import { bind, type LiveModule } from "../../../module.js";
import { ItemLists } from "../lists.js";
import { type QuestionPorts, questions } from "./commands.js";
import { type QuestionPushPorts, questionPushes } from "./pushes.js";

/** The ports of questions to the other floors. */
type Ports = Omit<QuestionPorts, "lists"> &
  QuestionPushPorts & {
    /** Whether this process has got all entries of a world up to a second ago. */
    readonly isCurrent: (world: string) => boolean;
  };

/** Questions that the people in a room ask and vote for. */
export function questionModule(ports: Ports) {
  const lists = new ItemLists<Question>("question", ports.isCurrent);
  return {
    bound: bind(questions, { ...ports, lists }),
    lists,
    onEntry: questionPushes(ports),
    forget: (world: string) => lists.forget(world),
  } satisfies LiveModule & { lists: ItemLists<Question> };
}
