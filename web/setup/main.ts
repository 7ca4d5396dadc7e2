import { en } from "../i18n/console/en/index.js";
import { start } from "../components/start.js";
import Setup from "./Setup.svelte";

void start(Setup, en);
