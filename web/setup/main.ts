import { en } from "../i18n/console/en.js";
import { start } from "../components/start.js";
import Setup from "./Setup.svelte";

void start(Setup, en);
