import { en } from "../i18n/console/en/index.js";
import { start } from "../components/start.js";
import App from "./App.svelte";

void start(App, en);
