import { bind, type LiveModule } from "../../../module.js";
import { type QuestionPorts, questions } from "./commands.js";
import { type QuestionPushPorts, questionPushes } from "./pushes.js";

/** Questions that the people in a room ask and vote for. */
export const questionModule = (ports: QuestionPorts & QuestionPushPorts) =>
  ({
    bound: bind(questions, ports),
    onEntry: questionPushes(ports),
  }) satisfies LiveModule;
