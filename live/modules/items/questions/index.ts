import { bind, type LiveModule } from "../../../module.js";
import { type QuestionPorts, questions } from "./commands.js";
import { type QuestionPushPorts, QuestionPushes } from "./pushes.js";

/** Questions that the people in a room ask and vote for. */
export function questionModule(ports: QuestionPorts & QuestionPushPorts) {
  const pushes = new QuestionPushes(ports);
  return {
    bound: bind(questions, ports),
    onEntry: pushes.handlers,
    stop: () => pushes.close(),
  } satisfies LiveModule;
}
