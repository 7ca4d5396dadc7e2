import { InvalidData } from "../../schemas/validate.js";
import { Refusal } from "../http/errors.js";
import type { CursorProblem } from "./page.js";

const PROBLEMS = {
  malformed: "Must be a cursor of the change feed.",
  future: "May not be a cursor of the future.",
};

/** The refusal of a cursor. @param name the field that holds it. */
export function cursorRefusal(problem: CursorProblem, name: string): Error {
  if (problem !== "expired") {
    return new InvalidData({ [name]: [PROBLEMS[problem]] });
  }
  const detail = "Entries after this cursor are not kept any more.";
  return new Refusal(410, detail, {}, "cursor_expired");
}
