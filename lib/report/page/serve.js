// SPDX-License-Identifier: BSD-3-Clause
// The page of `ddiperf serve`: runs, files, history. It has the charts of the page of a result (page.js),
// from the same data: the report of an ended run, or the lines of a run in progress.
"use strict";

const serve = (() => {

const {el, table, text, number, list, at, perSecond, percent, time, exact, badge, fill, draw} = ddiperf;
const app = document.getElementById("app"), page = document.getElementById("page");
const API = "/api/v1";

// --- the interface ---------------------------------------------------------------------------------

let token = sessionStorage.getItem("token") || "";
let about = {fleet: null, agents: []};

function askToken() {
	return new Promise(resolve => {
		const field = el("input", {type: "password", autocomplete: "off", "aria-label": "token", size: 40});
		const dialog = el("dialog", {}, el("form", {method: "dialog"}, el("p", {}, "This server wants its token."),
			el("div", {class: "row"}, field, el("button", {class: "main"}, "Use it"))));
		dialog.addEventListener("close", () => {
			token = field.value.trim();
			sessionStorage.setItem("token", token);
			dialog.remove();
			resolve();
		});
		document.body.append(dialog);
		dialog.showModal();
	});
}

async function call(method, path, body, more) {
	const options = {method, body, ...more, headers: {"X-Ddiperf": "1", ...(token ? {Authorization: `Bearer ${token}`} : {})}};
	const answer = await fetch(API + path, options);
	if (answer.status === 401) {
		await askToken();
		return call(method, path, body, more);
	}
	if (answer.ok)
		return answer;
	const said = await answer.json().catch(() => ({}));
	throw Object.assign(new Error(said.error || `${answer.status} ${answer.statusText}`), {errors: said.errors});
}

const get = async path => (await call("GET", path)).json();
const getText = async path => (await call("GET", path)).text();
const post = async (path, value) => (await call("POST", path, value === undefined ? undefined : JSON.stringify(value))).json();

async function save(path, name) {
	const url = URL.createObjectURL(await (await call("GET", path)).blob());
	el("a", {href: url, download: name}).click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// --- the current view ------------------------------------------------------------------------------

let view = null; // {end} of the current view

function go(path) {
	history.pushState(null, "", path);
	return show();
}

function link(path, name) {
	return el("a", {href: path, click: event => {
		if (event.ctrlKey || event.metaKey || event.shiftKey)
			return;
		event.preventDefault();
		go(path);
	}}, name);
}

const complaint = el("p", {class: "error", role: "alert"});

// The handler of a button, which shows its error.
const does = action => async event => {
	complaint.textContent = "";
	try {
		await action(event);
	} catch (error) {
		complaint.textContent = error.message;
	}
};

const button = (name, action, more) => el("button", {type: "button", click: does(action), ...more}, name);

async function show() {
	const [, kind, id, other] = location.pathname.split("/"), mine = {over: false};
	view && view.end();
	view = {end: () => mine.over = true};
	complaint.textContent = "";
	fill(page, {results: []}, []);
	page.replaceChildren();
	const box = el("div");
	app.replaceChildren(el("header", {class: "top"}, el("b", {}, "ddiperf"), link("/", "Runs"), link("/history", "History"),
		el("span", {class: "said"}, about.version || "")), complaint, box);
	try {
		await ({run: showRun, file: showFile, history: showHistory, compare: showComparison}[kind] || showRuns)(box, mine, decodeURIComponent(id || ""), other);
	} catch (error) {
		complaint.textContent = error.message;
	}
	document.documentElement.dataset.shown = location.pathname;
}

const sleep = ms => new Promise(go => setTimeout(go, ms));
const when = stamp => stamp.replace("T", " ").replace("Z", "").replace(/\.\d+$/, "");

function stateOf(run) {
	if (run.status === "running")
		return el("span", {class: "badge done", "data-verdict": "RUNNING"}, "RUNNING");
	return run.verdict ? badge(run.verdict) : el("span", {class: "badge invalid"}, run.status === "lost" ? "LOST" : "NO RESULT");
}

// --- runs and files ----------------------------------------------------------------------------------

// ticked: ids of runs to compare; tick: to call after a change of it.
function runRows(runs, again, ticked, tick) {
	const box = run => el("input", {type: "checkbox", "aria-label": `compare ${run.name} of ${when(run.started)}`, checked: ticked.has(run.id) ? "" : null,
		change: event => {
			event.target.checked ? ticked.add(run.id) : ticked.delete(run.id);
			tick();
		}});
	const name = run => `${run.name || run.file}${run.campaign ? `, campaign: ${run.campaign.done ?? 0} of ${run.campaign.of ?? "?"} repeats` : ""}`;
	return runs.map(run => [[run.verdict && !run.campaign ? box(run) : "", link(`/run/${run.id}`, when(run.started))], name(run), stateOf(run), perSecond(run.answered_per_s),
		percent(run.loss), time(run.p99_ns), run.status === "running"
			? button("Stop", async () => again(await post(`/runs/${run.id}/stop`)))
			: button("Delete", async () => confirm(`Delete run ${run.id}?`) && again(await call("DELETE", `/runs/${run.id}`)))]);
}

// Words that are all in the name, file, settings or state of a run; "-word" must not be there.
function matches(run, wanted) {
	const state = run.status === "running" ? "running" : run.verdict || (run.status === "lost" ? "lost" : "no result");
	const all = [run.name, run.file, state, run.id, run.campaign ? "campaign" : "", ...(run.set || [])].join(" ").toLowerCase();
	return wanted.toLowerCase().split(/\s+/).every(word => word.startsWith("-") && word.length > 1 ? !all.includes(word.slice(1)) : all.includes(word));
}

const isYaml = name => /\.ya?ml$/.test(name);

function fileRows(files, again) {
	return files.map(file => [isYaml(file.name) ? link(`/file/${file.name}`, file.name) : file.name, exact(file.size),
		[isYaml(file.name) ? button("Run", () => startFile(file.name)) : null,
			button("Delete", async () => confirm(`Delete ${file.name}?`) && again(await call("DELETE", `/files/${file.name}`)))]]);
}

async function upload(files) {
	for (const file of files)
		await call("PUT", `/files/${encodeURIComponent(file.name)}`, file);
}

// fleet: {agents, select} of a run on the fleet; undefined: the run is on the server's box.
async function startRun(file, set, fleet) {
	const {id} = await post("/runs", {file, set, fleet});
	await go(`/run/${id}`);
}

// The editor shows the errors of a file that is refused.
async function startFile(name) {
	try {
		await startRun(name, []);
	} catch (error) {
		if (!error.errors)
			throw error;
		await go(`/file/${name}`);
		complaint.textContent = error.message;
	}
}

const EMPTY = "run: {duration: 10s}\nports:\ntraffic:\n";

// sample: with it come the input files that are not there yet; undefined: the file is nearly empty.
async function create(name, sample) {
	if (!/^[A-Za-z0-9_][\w.-]*\.ya?ml$/.test(name))
		throw new Error("a name like test.yaml: letters, digits, '.', '_' and '-'");
	const there = new Set((await get("/files")).files.map(file => file.name));
	if (there.has(name))
		throw new Error(`there is a file ${name} already`);
	for (const input of sample ? sample.needs : [])
		there.has(input) || await call("PUT", `/files/${input}`, await getText(`/samples/${input}`));
	await call("PUT", `/files/${name}`, sample ? await getText(`/samples/${sample.name}`) : EMPTY);
	await go(`/file/${name}`);
}

let samples = null;

// The form that makes a file.
function newFile() {
	const name = el("input", {placeholder: "new.yaml", "aria-label": "name of a new file", size: 18}), about = el("p", {class: "soft", role: "status"});
	const chosen = () => samples.find(sample => sample.name === choice.value);
	const choice = el("select", {change: () => {
		if (!name.value || samples.some(sample => sample.name === name.value))
			name.value = choice.value;
		about.textContent = chosen() ? chosen().about : "";
	}}, el("option", {value: ""}, "an empty file"), samples.map(sample => el("option", {}, sample.name)));
	return [el("div", {class: "row"}, el("label", {}, "Start from ", choice), name, button("New file", () => create(name.value.trim(), chosen()))), about];
}

const HEALTH = {free: "pass", busy: "done", silent: "invalid"};

const amount = mb => mb < 1000 ? `${mb} MB` : `${(mb / 1000).toFixed(1)} GB`;

// An agent may send anything: other values count as an empty list.
const listOf = value => Array.isArray(value) ? value : [];

function boxOf({host, cpus, box: told}) {
	const box = told ?? {}, lacks = listOf(box.missing);
	const missing = lacks.length ? el("span", {class: "error"}, ` missing: ${lacks.join(", ")}`) : "";
	const memory = typeof box.memory_mb === "number" ? `, ${amount(box.memory_mb)}, hugepages ${amount(box.hugepages_mb ?? 0)}` : "";
	const title = [box.model, box.kernel, box.dpdk, ...["drivers", "cards", "interfaces"].map(name => `${name}: ${listOf(box[name]).join(", ") || "none"}`)];
	return el("span", {title: title.filter(text => text).join("\n")}, `${host}, ${cpus} CPUs${memory}`, missing);
}

const clockOf = ({clock}) => !clock ? "" : clock.kept ? `within ${time(clock.error_ns)}` : "not kept";

function agentRows() {
	return [...about.agents].sort((a, b) => a.name.localeCompare(b.name, undefined, {numeric: true})).map(agent => [agent.name,
		[el("span", {class: `badge ${HEALTH[agent.state]}`}, agent.state.toUpperCase()), agent.state === "silent" ? ` for ${exact(agent.silent_s)} s` : ""],
		time(agent.reply_ms * 1e6), [agent.version, agent.version === about.version ? "" : el("span", {class: "error"}, " other version")],
		agent.run ? `${agent.run} of ${agent.coordinator}` : "", agent.labels, clockOf(agent), boxOf(agent)]);
}

// The agents of the fleet, polled while the view is open.
function agents(mine) {
	if (!about.fleet)
		return [];
	const box = el("div");
	const put = () => box.replaceChildren(about.fleet.up ? "" : el("p", {class: "error"}, "The server of NATS is not there."),
		about.agents.length ? table([["agent", "text"], ["state", "text"], ["reply"], ["version", "text"], ["run", "text"], ["labels", "text"], ["clock", "text"], ["box", "text"]],
			agentRows(), "agents") : el("p", {class: "soft"}, "No agent is there. Start one: ddiperf agent --nats URL"));
	(async () => {
		for (; !mine.over; await sleep(2000)) {
			about = await get("").catch(() => about);
			put();
		}
	})();
	put();
	return [el("h2", {}, "Agents"), box];
}

// The choice where to run: {node, value}.
function fleetChoice() {
	const on = el("input", {type: "checkbox"}), count = el("input", {type: "number", min: 1, max: 9999, placeholder: "all", "aria-label": "number of agents"});
	const labels = el("input", {size: 14, placeholder: "rack=1,site=a", "aria-label": "labels of the agents"});
	const number = () => count.value ? {agents: +count.value} : {}, select = () => labels.value.trim() ? {select: labels.value.trim()} : {};
	return {node: about.fleet ? el("span", {class: "row"}, el("label", {}, on, " on the fleet"), el("label", {}, "agents ", count), el("label", {}, "labels ", labels)) : "",
		value: () => on.checked ? {...number(), ...select()} : undefined};
}

async function showRuns(box, mine) {
	document.title = "Runs – ddiperf";
	let runs = [];
	const wanted = new URLSearchParams(location.search).get("q") || "";
	const search = el("input", {type: "search", size: 30, placeholder: "name, file, setting, verdict", "aria-label": "search the runs", input: () => {
		history.replaceState(null, "", search.value.trim() ? `/?q=${encodeURIComponent(search.value.trim())}` : "/");
		putRuns();
	}}), found = el("span", {class: "said", role: "status"});
	search.value = wanted;
	const ticked = new Set(), compare = button("Compare", () => go(`/compare/${[...ticked].sort().join("/")}`));
	const tick = () => {
		compare.disabled = ticked.size !== 2;
		compare.title = ticked.size === 2 ? "" : "Tick two runs of the list";
	};
	const runsBox = el("div"), filesBox = el("div");
	samples ||= (await get("/samples")).samples;
	const chosen = el("input", {type: "file", multiple: "", "aria-label": "files to upload", change: does(async () => {
		await upload(chosen.files);
		chosen.value = "";
		await again();
	})});
	box.append(el("h2", {}, "Runs"), el("div", {class: "row"}, el("label", {}, "Search ", search), found, compare), runsBox, el("h2", {}, "Files"), filesBox,
		el("div", {class: "row"}, el("label", {}, "Upload ", chosen)), ...newFile(), ...agents(mine));
	async function again() {
		const [{runs: now}, {files}] = await Promise.all([get("/runs"), get("/files")]);
		if (mine.over)
			return;
		runs = now;
		ticked.forEach(id => runs.some(run => run.id === id && run.verdict) || ticked.delete(id));
		putRuns();
		filesBox.replaceChildren(files.length ? table([["file", "text"], ["octets"], [""]], fileRows(files, again), "files", true)
			: el("p", {class: "soft"}, "There are no files yet."));
	}
	function putRuns() {
		tick();
		const shown = runs.filter(run => matches(run, search.value.trim()));
		found.textContent = search.value.trim() ? `${shown.length} of ${runs.length} runs` : "";
		runsBox.replaceChildren(shown.length ? table([["started", "text"], ["name", "text"], ["verdict", "text"], ["answered"], ["loss"], ["p99"], [""]],
			runRows(shown, again, ticked, tick), "runs", true) : el("p", {class: "soft"}, runs.length ? "No run has all of these words." : "There are no runs yet. Upload a configuration, or start from a sample below."));
	}
	await again();
	watch();
	async function watch() {
		while (!mine.over) {
			await sleep(2000);
			if (!mine.over && runs.some(run => run.status === "running"))
				await again().catch(() => {});
		}
	}
}

// --- a run in progress ----------------------------------------------------------------------------------

const GROWING = ["search", "load", "latency", "heat", "answers", "limit"];

// The name of the protocol is a member of the item's settings, and of the item in an interval.
function protocolOf(settings, mine) {
	return Object.keys(mine).find(key => at(settings, key) && typeof mine[key] === "object" && key !== "latency");
}

// begin: the line of its begin; interval: the first one, undefined: there is none yet.
function liveRun(begin, interval, search) {
	const settings = list(at(begin, "result.config.traffic"));
	const traffic = (interval ? list(at(interval, "traffic")) : []).map((mine, i) => ({name: text(mine, "name"), protocol: protocolOf(settings[i], mine) || ""}));
	const run = {...at(begin, "result.run"), measured_s: undefined}; // unknown so far
	return new ddiperf.Run({live: true, file: "", document: {...begin.result, run, traffic, search, workers: list(at(interval, "workers")), orders: []},
		series: {columns: [[["t_s"], []]], heat: []}}, 0);
}

// The set of charts that a run needs: another shape needs other charts.
const shapeOf = run => JSON.stringify([run.items.map(item => [item.answers.size, item.heat.some(column => column.counts.size)]),
	run.probed.size, run.t.length > 2, list(at(run.doc, "search.trials")).map(trial => text(trial, "verdict"))]);

// A search in progress, in the form of a result's.
class LiveSearch {
	constructor(settings) {
		// Of a goal's settings those that limit something: 100% and 0s do not.
		const goal = list(settings.goals)[0] || {}, bounds = Object.entries(goal).filter(([name, v]) => !["exceed", "width"].includes(name) && !["100%", "0s"].includes(v));
		this.goal = {goal: bounds.map(([name, v]) => `${name} <= ${v}`).join(", ")};
		Object.assign(this, {method: text(settings, "method"), variable: text(settings, "variable"), goals: [this.goal], trials: []});
	}

	// The line before a trial has no verdict, and that after it takes its place.
	take(line) {
		this.answer = line.answer;
		Object.assign(this.goal, {answer: line.answer, upper: line.upper});
		this.trials[line.trial - 1] = line;
	}
}

// The tiles, and what can be said about the verdict so far.
function standing(run, line) {
	const box = el("section", {id: "standing"}), wrong = text(line, "invalid");
	const open = () => (at(run.doc, "config.criteria") || []).map(expression => ({expression, pass: null}));
	run.items.forEach(item => item.rank());
	run.doc.verdict = {criteria: at(line, "criteria") || open()};
	wrong && box.append(el("div", {class: "verdict"}, badge("invalid"), el("p", {}, `so far: ${wrong}`)));
	box.append(ddiperf.big(run));
	run.doc.verdict.criteria.length && box.append(el("h2", {}, at(run.doc, "search") ? "Criteria, in this trial alone" : "Criteria so far"));
	ddiperf.criteria(box);
	return box;
}

// Draws intervals after add(), at most five times a second. A trial's charts stay until the next one has its own.
class Live {
	constructor(begin, search) {
		Object.assign(this, {begin, search, shape: "", wanted: false, line: null, run: null, drawn: 0});
		if (search && search.trials.length)
			return;
		this.run = liveRun(begin, undefined, search);
		this.draw();
		this.run = null;
	}

	add(interval) {
		this.run ||= liveRun(this.begin, interval, this.search);
		this.run.add(interval);
		this.line = interval;
		this.plan();
	}

	plan() {
		if (this.wanted || !this.run)
			return;
		this.wanted = true;
		setTimeout(() => requestAnimationFrame(() => this.draw()), this.drawn + 200 - performance.now());
	}

	order(set) {
		this.run && this.run.doc.orders.push({set, at_s: this.run.t[this.run.t.length - 1] || 0});
	}

	draw() {
		const shape = shapeOf(this.run);
		this.wanted = false;
		if (this.over)
			return;
		this.drawn = performance.now();
		if (shape !== this.shape)
			fill(page, {results: [this.run]}, GROWING);
		this.shape = shape;
		const now = standing(this.run, this.line), before = document.getElementById(now.id);
		before ? before.replaceWith(now) : page.prepend(now);
		draw();
		ddiperf.listen(page);
	}

	end() {
		this.over = true;
	}
}

// --- a run -------------------------------------------------------------------------------------------

// Passes each event of the stream to a function; after a broken connection from the next line on.
async function follow(id, mine, take) {
	let from = 1, over = false;
	while (!over && !mine.over) {
		try {
			const answer = await call("GET", `/runs/${id}/follow?from=${from}`, undefined, {signal: mine.signal});
			const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
			let rest = "";
			for (let part; !(part = await reader.read()).done && !mine.over;) {
				const events = (rest + part.value).split("\n\n");
				rest = events.pop();
				for (const event of events) {
					const [, number] = /^id: (\d+)/m.exec(event) || [], [, data] = /^data: (.*)/m.exec(event) || [];
					from = number ? +number + 1 : from;
					over ||= /^event: end/m.test(event);
					data && take(JSON.parse(data), over);
				}
			}
		} catch (error) {
			if (mine.over)
				return;
			complaint.textContent = `The server does not answer (${error.message}); trying again.`;
		}
		over || await sleep(1000);
	}
	complaint.textContent = "";
}

// The rates that can be changed: items with one rate for the whole run.
function rates(id, begin) {
	return list(at(begin, "result.config.traffic")).filter(item => known(at(item, "load.rate"))).map(item => {
		const field = el("input", {value: String(item.load.rate), size: 8, "aria-label": `rate of ${item.name}`});
		const order = does(() => post(`/runs/${id}/orders`, {order: `traffic.${item.name}.load.rate=${field.value.trim()}`}));
		return el("form", {class: "row", submit: event => {
			event.preventDefault();
			order();
		}}, el("label", {}, `${item.name}: rate `, field), el("button", {}, "Change"),
		el("span", {class: "said"}, `at most ${item.load.rate}, from the next interval on`));
	});
}

const known = rate => typeof rate === "number" || /^[\d.]+[kMG]?$/.test(rate);

function progress(begin, interval) {
	const warm = interval && interval.warmup, total = number(begin, warm ? "warmup_s" : "duration_s");
	const t = interval ? number(interval, "t_s") : 0;
	const rows = list(at(interval, "traffic")).map(item => `${item.name}: ${perSecond(item.answered_per_s)} answered, loss ${percent(item.loss)}`);
	return `${number(begin, "begin") > 1 && !at(begin, "result.config.search") ? `run ${begin.begin}: ` : ""}${warm ? "warm-up" : t > total ? "waiting for replies" : "measuring"}, ${exact(Math.min(t, total))} of ${exact(total)} s. ${rows.join("; ")}`;
}

// Draws the lines of a run in progress as charts.
class Watch {
	constructor(id, said, box) {
		Object.assign(this, {id, said, box, live: null, begin: null, trial: "", search: null});
	}

	take(line) {
		if (line.begin !== undefined) {
			this.live && this.live.end();
			this.begin = line;
			const settings = at(line, "result.config.search");
			if (settings)
				this.search ||= new LiveSearch(settings);
			this.live = new Live(line, this.search);
			this.box.replaceChildren(...(settings ? [] : rates(this.id, line)));
			document.title = `${text(line, "result.run.name")} – ddiperf`;
			this.said.textContent = settings ? this.said.textContent : progress(line);
		} else if (line.order !== undefined) {
			complaint.textContent = line.refused ? `${line.order}: ${line.refused}` : "";
			line.refused || this.live && this.live.order(line.order);
		} else if (line.trial !== undefined) {
			this.trial = `Trial ${line.trial} at ${exact(line.rate)}${line.verdict ? `: ${line.verdict}` : ""}; highest that met the goal: ${exact(line.answer)}, lowest that did not: ${exact(line.upper)}. `;
			this.said.textContent = this.trial + (line.verdict ? "" : progress(this.begin));
			if (this.search) {
				this.search.take(line);
				this.live.plan();
			}
		} else if (line.t_s !== undefined) {
			this.said.textContent = this.trial + progress(this.begin, line);
			line.warmup || this.live.add(line);
		}
	}

	end() {
		this.live && this.live.end();
		this.box.replaceChildren();
	}
}

// The data in a page of results.
async function dataOf(path) {
	return JSON.parse(new DOMParser().parseFromString(await getText(path), "text/html").getElementById("data").textContent);
}

const report = id => dataOf(`/runs/${id}/report?format=html`);

const FORMATS = ["html", "json", "csv", "keyval", "hdr", "dns_metrics", "openmetrics", "junit", "jsonl"];

function results(id, formats) {
	const format = el("select", {"aria-label": "format"}, formats.map(name => el("option", {}, name)));
	return [format, button("Download", () => save(`/runs/${id}/report?format=${format.value}`, `${id}.${format.value}`))];
}

async function showLog(id, box) {
	box.replaceChildren(el("pre", {class: "wrap", "data-text": "log"}, await getText(`/runs/${id}/log`)));
}

const tableOf = async id => ({results: [], campaign: await get(`/runs/${id}/result`)});

// Draws the table of a campaign whenever it has changed, until the end. Returns its state.
async function watchCampaign(id, mine) {
	for (let before = "";; await sleep(1000)) {
		const run = await get(`/runs/${id}`).catch(error => {
			complaint.textContent = `The server does not answer (${error.message}); trying again.`;
		});
		if (run && run.status !== "running")
			complaint.textContent = "";
		if (mine.over || run && run.status !== "running")
			return run;
		const now = run && run.campaign.of ? JSON.stringify(run.campaign) : before;
		if (now === before)
			continue;
		const table = await tableOf(id);
		if (mine.over)
			return run;
		before = now;
		fill(page, table);
		draw();
		ddiperf.listen(page);
	}
}

async function showRun(box, mine, id) {
	let run = await get(`/runs/${id}`);
	const said = el("p", {class: "said", role: "status"}), controls = el("div"), row = el("div", {class: "row"}), head = el("div"), log = el("div");
	const abort = new AbortController();
	view.end = () => {
		mine.over = true;
		abort.abort();
	};
	mine.signal = abort.signal;
	box.append(head, said, row, controls, el("details", {toggle: event => event.target.open && does(() => showLog(id, log))()},
		el("summary", {}, "Output"), log));
	const name = () => el("h1", {}, `${run.name || run.file} `, stateOf(run));
	if (run.status === "running") {
		const watch = new Watch(id, said, controls);
		head.replaceChildren(run.campaign ? stateOf(run) : name());
		row.replaceChildren(button("Stop", () => post(`/runs/${id}/stop`), {class: "main"}), link(`/file/${run.file}`, run.file));
		document.documentElement.dataset.shown = location.pathname;
		if (run.campaign)
			run = await watchCampaign(id, mine);
		else
			await follow(id, mine, (line, over) => over ? run = line : watch.take(line));
		watch.end();
		if (mine.over)
			return;
	}
	head.replaceChildren(run.verdict ? "" : name());
	said.textContent = run.verdict && !(run.campaign && run.exit_code === 2) ? "" : run.said || (run.status === "lost" ? "Its server was ended before it."
		: `It ended without a result and without a word, with exit code ${run.exit_code}.`);
	// A campaign continues after the last run of its journal.
	const rest = run.campaign && !(run.campaign.done >= run.campaign.of);
	row.replaceChildren(rest ? button("Resume", async () => {
		await post(`/runs/${id}/resume`);
		await go(location.pathname);
	}, {class: "main"}) : "", button("Run again", () => startRun(run.file, run.set || [], run.fleet), rest ? {} : {class: "main"}), link(`/file/${run.file}`, `Edit ${run.file}`),
		...(run.verdict ? results(id, run.campaign ? ["html"] : FORMATS) : []), button("Delete", async () => {
			if (!confirm(`Delete run ${id}?`))
				return;
			await call("DELETE", `/runs/${id}`);
			await go("/");
		}));
	if (run.verdict || at(run, "campaign.of"))
		ddiperf.start(page, run.campaign ? await tableOf(id) : await report(id));
	document.documentElement.dataset.ended = id;
}

// --- two runs ------------------------------------------------------------------------------------------

// The page of both results, with the table of changes first, and the text of `ddiperf compare`: its warnings on top.
async function showComparison(box, mine, a, b) {
	const path = `/runs/${a}/compare/${b}`, data = await dataOf(`${path}?format=html`);
	const lines = (await getText(path)).split("\n"), warns = line => line.startsWith("ddiperf: ");
	if (mine.over)
		return;
	box.append(el("div", {class: "row"}, link(`/run/${a}`, "Run A"), link(`/run/${b}`, "Run B"), link(`/compare/${b}/${a}`, "Swap them")),
		...lines.filter(warns).map(line => el("p", {class: "invalid", "data-text": "warning"}, line.replace(/^ddiperf: (warning: )?(compare: )?/, ""))));
	ddiperf.start(page, data);
	const changes = document.getElementById("comparison"), nav = page.querySelector("nav");
	nav.prepend(nav.querySelector("[href='#comparison']"));
	nav.after(changes);
	changes.append(el("details", {}, el("summary", {}, "As ddiperf compare prints it"), el("pre", {"data-text": "comparison"}, lines.filter(line => !warns(line)).join("\n"))));
}

// --- history -----------------------------------------------------------------------------------------

const keyOf = entry => text(entry, "run.test_sha256") || text(entry, "run.config_sha256");

// A button for the trend up to a run, and a choice of its figures.
function trendOf(id) {
	const choice = el("select", {"aria-label": "figure of the trend", hidden: "", change: does(() => show())}, el("option", {value: ""}, "all figures"));
	let data = null;
	const show = () => {
		const figures = data.trend.figures.filter((_, i) => ["", String(i)].includes(choice.value));
		ddiperf.start(page, {...data, trend: {...data.trend, figures}}, ["trend"], run => does(() => go(`/run/${run}`))());
		document.title = "History – ddiperf";
		page.scrollIntoView();
	};
	return el("div", {class: "row"}, button("Trend", async () => {
		if (!data) {
			data = await report(id);
			choice.append(...data.trend.figures.map((figure, i) => el("option", {value: i}, `${figure.item}: ${ddiperf.words(figure.path)}`)));
			choice.hidden = false;
		}
		show();
	}), choice);
}

async function showHistory(box, mine) {
	document.title = "History – ddiperf";
	const entries = list((await get("/history")).runs), groups = new Map();
	const kept = new Set((await get("/runs")).runs.map(run => run.id)), idOf = entry => text(entry, "run.id");
	const started = entry => kept.has(idOf(entry)) ? link(`/run/${idOf(entry)}`, when(text(entry, "run.started"))) : when(text(entry, "run.started"));
	for (const entry of entries) {
		const key = `${text(entry, "run.name")} ${keyOf(entry)}`;
		groups.set(key, [...(groups.get(key) || []), entry]);
	}
	box.append(el("h2", {}, "History"), el("p", {class: "soft"}, groups.size ? "Runs of one configuration together, the newest first; its trend compares the newest with those before."
		: "No run has ended yet."));
	for (const group of [...groups.values()].reverse()) {
		const last = group[group.length - 1], newest = group.findLast(entry => kept.has(idOf(entry)));
		box.append(el("h3", {}, text(last, "run.name"), " ", el("small", {class: "soft"}, keyOf(last).slice(0, 8))),
			group.length > 1 && newest ? trendOf(idOf(newest)) : "",
			table([["started", "text"], ["verdict", "text"], ["item", "text"], ["answered"], ["loss"], ["p99"]],
				[...group].reverse().flatMap(entry => list(entry.traffic).map((item, i) => [i ? "" : started(entry),
					i ? "" : badge(text(entry, "verdict.status")), item.name, perSecond(item.answered_per_s), percent(item.loss),
					time(at(item, "latency.response.p99_ns"))])), "history", true));
	}
}

// --- the editor ----------------------------------------------------------------------------------------

// Returns the part of a schema that describes a value: behind references, lists and null.
function resolve(schema, node) {
	for (let steps = 0; node && steps < 16; steps++) {
		if (node.$ref)
			node = node.$ref.split("/").slice(1).reduce((object, key) => object && object[key], schema);
		else if (node.anyOf && !node.properties)
			node = node.anyOf.find(one => one.$ref || one.items && (one.items.$ref || one.items.properties)) || {choices: node.anyOf, ...node, anyOf: undefined};
		else if (node.type === "array" && (node.items.$ref || node.items.properties))
			node = node.items;
		else
			break;
	}
	return node;
}

const KEY = /^(\s*(?:- +)*)([\w.]+):(?=\s|$)/;

// Returns the keys above a place in the text, the word before it, and the key whose value it is.
function placeIn(value, position) {
	const lines = value.slice(0, position).split("\n"), last = lines.pop(), path = [];
	const word = /[\w.%-]*$/.exec(last)[0], head = last.slice(0, last.length - word.length);
	let indent = /^\s*(?:- +)*/.exec(last)[0].length;
	for (const line of lines.reverse()) {
		const found = KEY.exec(line);
		if (found && found[1].length < indent && line.trim()) {
			path.unshift(found[2]);
			indent = found[1].length;
		}
	}
	// In this line braces open mappings and brackets lists; a key stands before them or before the word.
	let key = "";
	const stack = [];
	for (const part of head.matchAll(/([\w.]+):(?=\s|$)|[{}[\],]/g)) {
		if (part[1])
			key = part[1];
		else if (part[0] === "{" || part[0] === "[") {
			stack.push({of: key, list: part[0] === "["});
			key = part[0] === "[" ? key : "";
		} else if (part[0] !== ",")
			key = (stack.pop() || {of: ""}).of;
		else
			key = stack.length && stack[stack.length - 1].list ? stack[stack.length - 1].of : "";
	}
	return {path: [...path, ...stack.filter(one => one.of && !one.list).map(one => one.of)], word, key};
}

const alternatives = one => [one, ...[...(one.choices || []), ...(one.anyOf || [])].flatMap(alternatives)];

function offersAt(schema, value, position) {
	const place = placeIn(value, position), {path, word} = place;
	const nodes = path.reduce((all, step) => [resolve(schema, at(all[0], `properties.${step}`)) || {}, ...all], [resolve(schema, schema)]);
	// Entries of a list stand below their key.
	const isList = !place.key && path.length && !nodes[0].properties, key = isList ? path[path.length - 1] : place.key;
	const properties = nodes[isList ? 1 : 0].properties || {};
	if (!key)
		return {word, offers: Object.entries(properties).filter(([name]) => name.startsWith(word))
			.map(([name, one]) => ({text: `${name}: `, name, help: one.description || ""}))};
	const one = resolve(schema, properties[key]) || {}, choices = alternatives(one).flatMap(c => [...(c.enum || []), ...(c.const ? [c.const] : []),
		...(c.type === "boolean" ? ["true", "false"] : []), ...(c.items && c.items.enum || [])]);
	return {word, offers: [...new Set([...choices, ...(one.default ? [one.default] : [])])].map(String).filter(name => name.startsWith(word))
		.map(name => ({text: name, name, help: name === one.default ? "default" : ""}))};
}

class Editor {
	constructor(value, schema, changed) {
		Object.assign(this, {schema, changed, wrong: new Set(), offers: null});
		this.marks = el("div");
		this.lines = el("pre", {class: "lines", "aria-hidden": "true"});
		this.area = el("textarea", {spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", "aria-label": "configuration",
			"aria-autocomplete": "list", "aria-controls": "offers", "aria-describedby": "errors keys",
			input: () => this.input(), keydown: event => this.key(event), scroll: () => this.scroll(), blur: () => setTimeout(() => this.close(), 150)});
		this.area.value = value;
		this.box = el("div", {class: "editor"}, this.lines, el("div", {class: "marks", "aria-hidden": "true"}, this.marks), this.area);
		this.number();
	}

	get value() {
		return this.area.value;
	}

	number() {
		const count = this.value.split("\n").length;
		this.lines.replaceChildren(...Array.from({length: count}, (_, i) => el("span", {class: this.wrong.has(i + 1) ? "wrong" : null},
			`${this.wrong.has(i + 1) ? "✗ " : ""}${i + 1}\n`)));
		this.scroll();
	}

	scroll() {
		this.lines.scrollTop = this.area.scrollTop;
		this.marks.style.transform = `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`;
		this.offers && !this.put() && this.close();
	}

	input() {
		this.number();
		this.changed();
		const position = this.area.selectionStart;
		/[\w]$/.test(this.value.slice(0, position)) ? this.offer(2) : this.close();
	}

	mark(errors) {
		const placed = errors.filter(error => error.line), lines = this.value.split("\n");
		this.wrong = new Set(placed.map(error => error.line));
		this.marks.style.minWidth = `${this.area.scrollWidth}px`;
		this.marks.replaceChildren(...placed.map((error, i) => {
			const line = lines[error.line - 1] || "", before = line.slice(0, Math.max(0, error.column - 1));
			return el("div", {"data-line": error.line, class: placed.findIndex(one => one.line === error.line) === i ? "wrong" : null,
				style: `top: calc(8px + ${error.line - 1} * 1.5em)`}, before, el("u", {}, /^[^\s,:{}[\]]*|^./.exec(line.slice(before.length))[0] || " "));
		}));
		this.area.setAttribute("aria-invalid", String(placed.length > 0));
		this.number();
	}

	goTo(line, column) {
		const before = this.value.split("\n").slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
		this.area.focus();
		this.area.setSelectionRange(before + Math.max(0, column - 1), before + Math.max(0, column - 1));
		this.area.scrollTop = Math.max(0, (line - 5) * parseFloat(getComputedStyle(this.area).lineHeight));
		const word = this.marks.querySelector(`[data-line="${line}"] u`);
		this.area.scrollLeft = word ? Math.max(0, word.offsetLeft + word.offsetWidth + 20 - this.area.clientWidth) : 0;
	}

	// least: letters of the word
	offer(least) {
		const {word, offers} = offersAt(this.schema, this.value, this.area.selectionStart);
		this.close();
		if (!offers.length || word.length < least || offers.length === 1 && offers[0].name === word)
			return;
		this.chosen = 0;
		this.word = word;
		this.list = offers.slice(0, 50);
		this.offers = el("ul", {class: "offers", id: "offers", role: "listbox", "aria-label": "completion"}, this.list.map((offer, i) =>
			el("li", {role: "option", id: `offer-${i}`, mousedown: event => {
				event.preventDefault();
				this.take(i);
			}}, offer.name, el("small", {}, offer.help))));
		this.box.append(this.offers);
		this.put();
		this.choose(0);
	}

	// Places the list below or above the word. Returns whether the word is in sight.
	put() {
		const before = this.value.slice(0, this.area.selectionStart).split("\n"), style = getComputedStyle(this.area);
		const pen = el("canvas").getContext("2d"), line = parseFloat(style.lineHeight);
		pen.font = style.font;
		const wide = pen.measureText("0").width;
		const left = this.area.offsetLeft + 8 + (before[before.length - 1].length - this.word.length) * wide - this.area.scrollLeft;
		const top = 8 + before.length * line - this.area.scrollTop, room = this.box.clientHeight - top;
		this.offers.style.left = `${Math.max(0, Math.min(left, this.box.clientWidth - 260))}px`;
		Object.assign(this.offers.style, room < 120 ? {top: "auto", bottom: `${room + line}px`} : {top: `${top}px`, bottom: "auto"});
		return top >= 0 && room >= -line;
	}

	choose(i) {
		this.chosen = (i + this.list.length) % this.list.length;
		[...this.offers.children].forEach((node, k) => node.setAttribute("aria-selected", String(k === this.chosen)));
		this.offers.children[this.chosen].scrollIntoView({block: "nearest"});
		this.area.setAttribute("aria-activedescendant", `offer-${this.chosen}`);
	}

	take(i) {
		const position = this.area.selectionStart;
		this.area.setRangeText(this.list[i].text, position - this.word.length, position, "end");
		this.close();
		this.number();
		this.changed();
	}

	close() {
		this.offers && this.offers.remove();
		this.offers = null;
		this.area.removeAttribute("aria-activedescendant");
	}

	key(event) {
		if (event.key === " " && event.ctrlKey) {
			event.preventDefault();
			this.offer(0);
			return;
		}
		const act = this.offers && {ArrowDown: () => this.choose(this.chosen + 1), ArrowUp: () => this.choose(this.chosen - 1),
			Enter: () => this.take(this.chosen), Tab: () => this.take(this.chosen), Escape: () => this.close()}[event.key];
		if (!act)
			return;
		event.preventDefault();
		act();
	}
}

const schemas = {};

async function showFile(box, mine, name) {
	document.title = `${name} – ddiperf`;
	const value = await getText(`/files/${name}`);
	const kind = /^[{ ]*"?points"?:/m.test(value) ? "campaign" : "run", schema = schemas[kind] ||= await get(`/schema?of=${kind}`);
	const errors = el("ul", {class: "errors", id: "errors", "aria-live": "polite"}), state = el("span", {class: "said", role: "status"});
	const sets = el("input", {size: 40, placeholder: "run.duration=5s traffic.queries.load.rate=2k", "aria-label": "settings in place of those of the file"});
	const fleet = fleetChoice();
	let timer = 0, checks = 0;
	const editor = new Editor(value, schema, () => {
		state.textContent = "not saved";
		clearTimeout(timer);
		timer = setTimeout(does(check), 500);
	});
	async function check() {
		const mine = ++checks, found = await (await call("POST", "/check", editor.value)).json();
		mine === checks && put(found.errors);
	}
	function put(found) {
		editor.mark(found);
		errors.replaceChildren(...found.map(error => el("li", {}, error.line ? el("button", {type: "button", click: () => editor.goTo(error.line, error.column)},
			`line ${error.line}: ${error.text}`) : el("span", {class: "error"}, error.text))));
		box.dataset.errors = found.length;
	}
	async function keep() {
		await call("PUT", `/files/${name}`, editor.value);
		state.textContent = "saved";
	}
	async function run() {
		await keep();
		try {
			await startRun(name, sets.value.split(/\s+/).filter(Boolean), fleet.value());
		} catch (error) {
			error.errors && put(error.errors);
			throw error;
		}
	}
	box.append(el("h1", {}, name), editor.box, errors, el("div", {class: "row"}, button("Run", run, {class: "main"}), button("Save", keep),
		el("label", {}, "with ", sets), fleet.node, state), el("p", {class: "soft", id: "keys"}, "Ctrl-Space: completion; arrows choose, Enter takes, Escape leaves. Ctrl-S: save. Settings beside Run take the place of those in the file."));
	box.addEventListener("keydown", event => {
		if (event.key !== "s" || !(event.ctrlKey || event.metaKey))
			return;
		event.preventDefault();
		does(keep)();
	});
	await check();
}

addEventListener("popstate", () => show());
get("").then(answer => about = answer, () => {}).then(show);
return {go, offersAt, placeIn, Watch, get view() { return view; }};
})();
