import { start } from "../components/start.js";
import Setup from "./Setup.svelte";

void start(Setup, true);
