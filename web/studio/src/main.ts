import "../../shared/tokens.css";
import "../../shared/base.css";
import "./app.css";

import { mount } from "svelte";

import App from "./App.svelte";

const target = document.getElementById("app");
if (target === null) throw new Error("the page has no element `app`");
mount(App, { target });
