import { isBrief, runFolder, STORE } from "./folder.js";

const isChosen = isBrief("db");
await runFolder("db", (file) => file !== STORE && isChosen(file));
