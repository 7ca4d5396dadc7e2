import { Command } from "commander";
import { questions } from "../db/results/questions.js";
import {
  printRecords,
  recordsCommand,
  type RecordsOptions,
} from "./records.js";

const printResults = recordsCommand(
  "results <world>",
  "print the questions of the rooms of a world with their votes, the oldest first",
  'question results summit --room "Main stage" --format csv > questions.csv',
).action((world: string, options: RecordsOptions) =>
  printRecords(world, options, questions),
);

/** `foyer question …` */
export const questionCommand = new Command("question")
  .description("print the questions of a world")
  .addCommand(printResults);
