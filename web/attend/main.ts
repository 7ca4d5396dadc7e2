import { start } from "../components/start.js";
import App from "./App.svelte";
import { takeToken } from "./arrival.js";

takeToken();
void start(App);
