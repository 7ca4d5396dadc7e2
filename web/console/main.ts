import { start } from "../components/start.js";
import App from "./App.svelte";

void start(App, true);
