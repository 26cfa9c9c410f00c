// SPDX-License-Identifier: BSD-3-Clause
// The page of one result or several: sections in the order of a reader's questions, charts by uPlot.
// Runs get their intervals by add(), one after the other, and draw() shows them: from the data in
// the page, or from a run in progress (serve.js). Text of a result becomes text nodes only, never
// markup.
"use strict";

const ddiperf = (() => {

// --- text -----------------------------------------------------------------------------------------

const SI = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const LOST = "lost";

const digits3 = v => v === 0 ? "0" : String(Number(v.toPrecision(3)));
const known = v => typeof v === "number" && !Number.isNaN(v);

function scaled(v, steps) {
	if (!known(v))
		return "–";
	const [size, unit] = steps.find(([size]) => Math.abs(v) >= size * 0.9995) || steps[steps.length - 1];
	return digits3(v / size) + (unit ? " " + unit : "");
}
const si = v => scaled(v, SI);
const perSecond = v => known(v) ? si(v) + "/s" : "–";
const time = v => v === Infinity ? LOST : v === 0 ? "0 s" : scaled(v, TIMES);
const percent = v => known(v) ? digits3(100 * v) + " %" : "–";
const exact = v => known(v) ? v.toLocaleString("en", {maximumFractionDigits: 3}).replaceAll(",", " ") : "–";
const seconds = v => known(v) ? Number(v.toFixed(3)) + " s" : "–";

const UNITS = {ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9};
const FACTORS = {"": 1, k: 1e3, M: 1e6, G: 1e9};

// Returns the ns of "500ms", as in a configuration; NaN: not a time.
function parseTime(text) {
	const found = /^([\d.]+)(ns|us|ms|s|m|h)$/.exec(text);
	return found ? found[1] * UNITS[found[2]] : NaN;
}

// Makes a node: attributes by name, functions as listeners, children as nodes or text.
function el(tag, attributes, ...children) {
	const svg = ["svg", "path", "circle", "rect"].includes(tag);
	const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {}))
		if (typeof value === "function")
			node.addEventListener(name, value);
		else if (value !== undefined && value !== null)
			node.setAttribute(name, value);
	node.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
	return node;
}

function facts(rows) {
	return el("dl", {class: "facts"}, rows.filter(([, v]) => v !== undefined && v !== null && v !== "")
		.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

// columns: [title, is it text]. folds: in a narrow window a row becomes lines with their titles; else it scrolls.
function table(columns, rows, name, folds) {
	const cells = (tag, row) => row.map((cell, i) => el(tag,
		{class: columns[i][1] || null, scope: tag === "th" ? "col" : null, "data-title": folds && tag === "td" ? columns[i][0] : null}, cell));
	return el("div", {class: "scroll", tabindex: folds ? null : 0}, el("table", {class: folds ? "figures folds" : "figures", "data-table": name},
		el("thead", {}, el("tr", {}, cells("th", columns.map(c => c[0])))),
		el("tbody", {}, rows.map(row => el("tr", {}, cells("td", row))))));
}

// The table behind a chart, made when it is opened.
function dataTable(make) {
	const box = el("div"), node = el("details", {class: "data"}, el("summary", {}, "Data as a table"), box);
	node.addEventListener("toggle", () => box.replaceChildren(...(node.open ? [make()] : [])));
	return node;
}

function list(value) {
	return Array.isArray(value) ? value.filter(one => one && typeof one === "object") : [];
}

// Returns the member at a path; undefined if it does not exist.
function at(object, path) {
	for (const key of path.split(".")) {
		if (!object || typeof object !== "object" || !Object.hasOwn(object, key))
			return undefined;
		object = object[key];
	}
	return object;
}

const number = (object, path) => {
	const value = at(object, path);
	return typeof value === "number" ? value : NaN;
};
const text = (object, path) => {
	const value = at(object, path);
	return typeof value === "string" ? value : "";
};
const sum = values => values.reduce((total, v) => total + (known(v) ? v : 0), 0);

// --- histograms -----------------------------------------------------------------------------------

// Returns the lower edge of a bucket in ticks: 128 buckets an octave.
function bucketLow(bucket) {
	return bucket < 128 ? bucket : (128 + bucket % 128) * 2 ** (Math.floor(bucket / 128) - 1);
}

// Returns [[bucket, count], ...] of "GAP:COUNT ..."; malformed words are left out.
function parseHistogram(words) {
	const buckets = [];
	let bucket = 0;
	for (const word of typeof words === "string" ? words.split(" ") : []) {
		const [gap, count] = word.split(":").map(Number);
		if (!(gap >= 0) || !(count > 0))
			continue;
		bucket += gap;
		buckets.push([bucket, count]);
	}
	return buckets;
}

// Percentiles of a histogram, [[bucket, count], ...]; `lost` more lie above all others.
function ranks(buckets, max, hz, lost) {
	const total = sum(buckets.map(b => b[1])) + lost;
	let seen = 0, i = 0;
	return {total, at(share) { // shares in rising order
		const rank = Math.max(1, Math.ceil(share * total * (1 - 1e-12)));
		while (i < buckets.length && seen + buckets[i][1] < rank)
			seen += buckets[i++][1];
		if (i === buckets.length)
			return total ? Infinity : NaN;
		const [low, high] = [bucketLow(buckets[i][0]), bucketLow(buckets[i][0] + 1)];
		const middle = (low + (high - 1 - low) / 2) * 1e9 / hz;
		return max < middle ? max : middle;
	}};
}

// --- runs -------------------------------------------------------------------------------------------

const LATENCIES = ["p50", "p90", "p99", "max"];
const ANSWERS = ["rcode", "received"]; // counters with labels that describe best how requests were answered
const HEAT_SHIFT = 4;
const HEAT_COLUMNS = 400; // of a run in progress; with more, two become one

// The series of a traffic item, one value for each interval.
class Item {
	constructor(run, doc, index) {
		Object.assign(this, {run, doc, index, due: [], sent: [], answered: [], loss: []});
		this.name = text(doc, "name") || `item ${index + 1}`;
		for (const name of LATENCIES)
			this[name] = [];
		this.all = new Map(); // buckets of the whole run in progress
		this.answers = new Map(); // label: rates
		this.servers = new Map(); // server: rates
		this.heat = []; // {from, to, counts: Map of wide buckets}
		this.timeout = parseTime(text(list(at(run.doc, "config.traffic"))[index], "timeout"));
		this.protocol = text(doc, "protocol");
		this.group = this.groupOf(doc);
	}

	groupOf(doc) {
		return ANSWERS.find(name => Object.keys(at(doc, `${this.protocol}.${name}`) || {}).length);
	}

	// Where lost transactions are drawn: above the timeout, or above the slowest reply.
	get above() {
		return 1.6 * (known(this.timeout) ? this.timeout : number(this.doc, "latency.response.max_ns") || 1e9);
	}

	add(interval, length) {
		const mine = list(at(interval, "traffic"))[this.index] || {}, loss = number(mine, "loss");
		const position = this.due.length;
		this.due.push(number(mine, "due_per_s"));
		this.sent.push(number(mine, "sent_per_s"));
		this.answered.push(number(mine, "answered_per_s"));
		this.loss.push(loss);
		for (const name of LATENCIES) {
			const value = at(mine, `latency.response.${name}_ns`);
			this[name].push(value === LOST || (value === null && loss > 0 && name !== "max") ? Infinity
				: typeof value === "number" ? value : NaN);
		}
		this.addAnswers(mine, length, position);
		for (const server of list(at(mine, "servers"))) {
			const name = text(server, "name");
			if (!this.servers.has(name))
				this.servers.set(name, Array(position).fill(0));
			this.servers.get(name).push(length > 0 ? (number(server, "answered") || 0) / length : 0);
		}
	}

	addAnswers(mine, length, position) {
		this.group ||= this.groupOf(mine);
		const rates = mine.answers || {}, counts = !mine.answers && at(mine, `${this.protocol}.${this.group}`);
		for (const [label, count] of Object.entries(counts || {}))
			rates[label] = count / length;
		for (const label of Object.keys(rates))
			if (!this.answers.has(label))
				this.answers.set(label, Array(position).fill(0));
		for (const [label, values] of this.answers)
			values.push(known(rates[label]) ? rates[label] : 0);
	}

	// Counts of the run so far, and the rate of the last interval, where a result has its own.
	soFar(mine) {
		for (const name of ["sent", "lost", "no_reply"])
			this.doc[name] = (this.doc[name] || 0) + (number(mine, name) || 0);
		for (const name of ["answered_per_s", "sent_per_s", "in_flight"])
			this.doc[name] = number(mine, name);
	}

	// Percentiles so far, of all that were answered or lost.
	rank() {
		const r = ranks([...this.all].sort((a, b) => a[0] - b[0]), NaN, this.run.hz, this.doc.lost || 0);
		const known = v => v === Infinity ? null : v;
		this.doc.latency = {response: {p50_ns: known(r.at(0.5)), p99_ns: known(r.at(0.99))}};
	}

	addHeat(from, to, words, shift) {
		const counts = new Map();
		for (const [bucket, count] of parseHistogram(words)) {
			this.run.live && this.all.set(bucket, (this.all.get(bucket) || 0) + count);
			const wide = bucket >> (HEAT_SHIFT - shift);
			counts.set(wide, (counts.get(wide) || 0) + count);
		}
		this.heat.push({from, to, counts});
		if (this.heat.length > HEAT_COLUMNS)
			this.heat = this.heat.flatMap((column, i, all) => i % 2 ? [] : [joined(column, all[i + 1])]);
	}
}

// Merges two columns of a heat map.
function joined(a, b) {
	for (const [bucket, count] of b ? b.counts : [])
		a.counts.set(bucket, (a.counts.get(bucket) || 0) + count);
	return b ? {...a, to: b.to} : a;
}

class Run {
	constructor(result, index) {
		this.live = result.live;
		this.doc = result.document;
		this.file = result.file;
		this.changes = list(result.changes);
		this.index = index;
		this.letter = String.fromCharCode(65 + index);
		this.hz = number(this.doc, "run.host.tsc_hz") || 1e9;
		this.t = [];
		this.items = list(at(this.doc, "traffic")).map((doc, i) => new Item(this, doc, i));
		this.probed = new Map(); // figures of the server's side by name
		this.workers = list(at(this.doc, "workers")).map(doc => ({doc, busy: [], stolen: []}));
		this.load(result.series);
	}

	// Adds an interval of a result.
	add(interval) {
		const t = number(interval, "t_s"), last = this.t.length ? this.t[this.t.length - 1] : 0;
		const length = number(interval, "length_s") || t - last;
		this.t.push(t);
		this.items.forEach((item, i) => {
			const words = at(list(at(interval, "traffic"))[i], "latency.response.histogram");
			item.add(interval, length);
			this.live && item.soFar(list(at(interval, "traffic"))[i]);
			if (words !== undefined)
				item.addHeat(last, t, words, 0);
		});
		const probed = interval.probe || new Map(list(at(interval, "dut.figures")).map(one => [text(one, "name"), number(one, "value")]));
		for (const name of probed.keys())
			this.probed.has(name) || this.probed.set(name, Array(this.t.length - 1).fill(NaN));
		for (const [name, values] of this.probed)
			values.push(known(probed.get(name)) ? probed.get(name) : NaN);
		this.workers.forEach((worker, i) => {
			const mine = list(at(interval, "workers"))[i];
			worker.busy.push(number(mine, "busy"));
			worker.stolen.push(number(mine, "stolen_s") / length);
		});
	}

	// Intervals come as columns: [place, values].
	load(series) {
		const columns = series.columns;
		for (let i = 0; i < columns[0][1].length; i++)
			this.add(intervalOf(columns, i));
		series.heat.forEach((cells, item) => {
			let from = 0;
			for (const [to, words] of cells) {
				this.items[item] && this.items[item].addHeat(from, to, words, series.heat_shift);
				from = to;
			}
		});
	}
}

function intervalOf(columns, position) {
	const interval = {traffic: [], workers: [], probe: new Map()};
	for (const [place, values] of columns) {
		const [head, index, path, label] = place;
		if (index === undefined) {
			interval[head] = values[position];
			continue;
		}
		if (head === "probe") {
			interval.probe.set(index, values[position]);
			continue;
		}
		let object = interval[head][index] ||= {};
		const keys = label === undefined ? path.split(".") : [path, label];
		for (const key of keys.slice(0, -1))
			object = Object.hasOwn(object, key) ? object[key] : object[key] = Object.create(null);
		object[keys[keys.length - 1]] = values[position];
	}
	return interval;
}

// --- charts -----------------------------------------------------------------------------------------

const colourOf = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const DASHES = [[], [7, 5], [2, 3], [10, 4, 2, 4]]; // of results A, B, C, D
const WIDE = 4000; // rows of a table

let runs = [], charts = [];
let zoom = null; // [from, to] of all time charts, in seconds
let dragged = null; // chart that the mouse went down on
let place = ""; // section in the address

const full = () => [0, Math.max(0.001, ...runs.flatMap(run => run.t.length ? [run.t[run.t.length - 1]] : []))];

function setZoom(from, to) {
	const [first, last] = full();
	zoom = from <= first && to >= last ? null : [Math.max(first, from), Math.min(last, to)];
	for (const one of charts)
		if (one.timed)
			one.zoom();
	writePlace();
}

function writePlace() {
	const range = zoom ? `,${seconds(zoom[0])}-${seconds(zoom[1])}`.replaceAll(" ", "") : "";
	try {
		history.replaceState(null, "", place || range ? `#${place}${range}` : "#");
	} catch (error) {
		if (!(error instanceof DOMException)) // of a page in a frame without an address
			throw error;
	}
}

function readPlace() {
	const found = /^#([\w-]*)(?:,([\d.]+)s-([\d.]+)s)?$/.exec(location.hash || "#");
	if (!found)
		return;
	place = found[1];
	zoom = found[2] !== undefined && +found[3] > +found[2] ? [+found[2], +found[3]] : null;
}

// A line across the chart at a value of y, with its name above or below it.
function markLine(u, value, name, dash, below) {
	const {ctx, bbox} = u, y = Math.round(u.valToPos(value, "y", true));
	if (!known(value) || y < bbox.top || y > bbox.top + bbox.height)
		return;
	ctx.save();
	ctx.strokeStyle = ctx.fillStyle = colourOf("soft");
	ctx.lineWidth = devicePixelRatio;
	ctx.setLineDash(dash.map(v => v * devicePixelRatio));
	ctx.beginPath();
	ctx.moveTo(bbox.left, y);
	ctx.lineTo(bbox.left + bbox.width, y);
	ctx.stroke();
	ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
	ctx.textAlign = "left";
	ctx.textBaseline = below ? "top" : "bottom";
	ctx.fillText(name, bbox.left + 4 * devicePixelRatio, y + (below ? 3 : -2) * devicePixelRatio);
	ctx.restore();
}

// Marks on a time axis: the end of the load, a stop rule, events; and the times when the tester was descheduled below it.
function markTimes(u, run) {
	const {ctx, bbox} = u, ratio = devicePixelRatio, measured = number(run.doc, "run.measured_s");
	const x = t => Math.min(bbox.left + bbox.width, Math.max(bbox.left, u.valToPos(t, "x", true)));
	const last = run.t[run.t.length - 1];
	ctx.save();
	if (last > measured * 1.0001) {
		ctx.fillStyle = colourOf("shade");
		ctx.fillRect(x(measured), bbox.top, x(last) - x(measured), bbox.height);
	}
	ctx.fillStyle = colourOf("gap");
	run.t.forEach((t, i) => {
		const share = Math.max(0, ...run.workers.map(worker => worker.stolen[i] || 0));
		const from = x(i ? run.t[i - 1] : 0);
		if (share > 0.01)
			ctx.fillRect(from, bbox.top + bbox.height - 6 * ratio * Math.min(1, share), Math.max(1, x(t) - from),
				6 * ratio * Math.min(1, share));
	});
	ctx.fillStyle = ctx.strokeStyle = colourOf("ink");
	ctx.font = `${11 * ratio}px system-ui, sans-serif`;
	ctx.textBaseline = "top";
	for (const [t, name] of marksOf(run)) {
		if (t < u.scales.x.min || t > u.scales.x.max)
			continue;
		ctx.fillRect(x(t), bbox.top, ratio, bbox.height);
		ctx.textAlign = x(t) > bbox.left + 0.75 * bbox.width ? "right" : "left";
		ctx.fillText(` ${name} `, x(t), bbox.top + 2 * ratio);
	}
	ctx.restore();
}

function marksOf(run) {
	const marks = list(at(run.doc, "events")).map(event => [number(event, "at_s"), text(event, "name") || "event"]);
	const stopped = number(run.doc, "verdict.stopped_s");
	if (stopped > 0)
		marks.push([stopped, "stopped"]);
	for (const order of list(at(run.doc, "orders")))
		marks.push([number(order, "at_s"), text(order, "set").replace("traffic.", "").replace("load.", "")]);
	return marks.filter(([t]) => known(t));
}

// Makes paths of values that hold for an interval, which ends at its point; the first begins at 0, as in the heat map.
// Of the values within a pixel, the least, the greatest and the last are drawn.
const intervals = filled => (u, line, first, last) => {
	const [xs, ys] = [u.data[0], u.data[line]], stroke = new Path2D(), fill = filled ? new Path2D() : null;
	const place = (v, scale) => u.valToPos(v, scale, true), base = place(u.scales.y.distr === 3 ? u.scales.y.min : 0, "y");
	let before = first - 1, open = false, low, high, y;
	while (before >= 0 && ys[before] === undefined)
		before--;
	let left = place(before < 0 ? 0 : xs[before], "x");
	for (let i = first; i <= last; i++) {
		if (ys[i] === undefined) // a time of another result
			continue;
		const right = place(xs[i], "x");
		if (ys[i] !== null) {
			y = place(ys[i], "y");
			low = open ? Math.min(low, y) : y;
			high = open ? Math.max(high, y) : y;
			open || stroke.moveTo(left, y);
			open = true;
			if (right - left < 1 && i < last)
				continue;
			stroke.lineTo(left, low);
			stroke.lineTo(left, high);
			stroke.lineTo(left, y);
			stroke.lineTo(right, y);
			filled && fill.rect(left, low, right - left, base - low);
			low = high = y;
		} else
			open = false;
		left = right;
	}
	return {stroke, fill, clip: null, band: null, gaps: null, flags: 3};
};

// The interval under the cursor, of each line.
function intervalAt(u, line, near, x) {
	const [xs, ys] = [u.data[0], u.data[line]];
	let i = xs[near] < x && near + 1 < xs.length ? near + 1 : near;
	while (ys[i] === undefined && i + 1 < xs.length)
		i++;
	return i;
}

// A chart in a figure. o.lines: [{run, xs, name, values, colour, fill, width, points, dash}], grouped
// by x; o.y: {label, format, log}; o.x: likewise, or undefined: time.
class Chart {
	constructor(parent, o) {
		this.o = o;
		this.timed = !o.x;
		this.box = el("div", {class: "plot", role: "group", "aria-label": o.title, style: `min-height:${(o.height || 240) + 30}px`});
		this.figure = el("figure", {"data-chart": o.name},
			el("figcaption", {}, o.title, o.note ? el("small", {}, o.note) : null), this.box,
			dataTable(() => this.table()));
		parent.append(this.figure);
		charts.push(this);
	}

	data() {
		const tables = new Map();
		for (const line of this.o.lines) {
			const xs = line.xs();
			tables.has(xs) || tables.set(xs, [xs]);
			tables.get(xs).push(line.values());
		}
		const all = [...tables.values()];
		return all.length === 1 ? all[0] : uPlot.join(all, all.map(one => one.map(() => 0)));
	}

	draw() {
		const data = this.data().map((column, i) => i ? column.map(v => this.drawable(v)) : column);
		this.figure.dataset.points = Math.max(0, ...this.o.lines.map(line => line.xs().length));
		this.figure.dataset.lines = this.o.lines.length;
		if (this.plot && this.plot.series.length === data.length) {
			this.plot.setData(data);
			return;
		}
		this.clear();
		this.plot = new uPlot(this.options(), data, this.box);
	}

	drawable(v) {
		if (v === undefined)
			return v;
		if (v === Infinity)
			return this.o.above;
		return !known(v) || (this.o.y.log && v <= 0) ? null : v;
	}

	clear() {
		this.plot && this.plot.destroy();
		this.plot = null;
	}

	resize() {
		this.plot && this.plot.setSize({width: this.box.clientWidth, height: this.height()});
	}

	height() {
		return this.o.height || (this.box.clientWidth < 500 ? 210 : 240);
	}

	zoom() {
		const [min, max] = zoom || full();
		if (this.plot && (this.plot.scales.x.min !== min || this.plot.scales.x.max !== max))
			this.plot.setScale("x", {min, max});
	}

	options() {
		const {o} = this;
		const axis = {stroke: () => colourOf("soft"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
			grid: {stroke: () => colourOf("rule"), width: 1}, ticks: {stroke: () => colourOf("rule"), width: 1}};
		return {
			width: this.box.clientWidth, height: this.height(),
			scales: {x: {time: false, range: (u, min, max) => this.rangeX(min, max)},
				y: o.y.log ? {distr: 3, range: (u, min, max) => this.rangeLog(min, max)}
					: {range: (u, min, max) => o.y.range || [o.y.from ?? 0, max * 1.06 || o.y.least || 1]}},
			axes: [
				{...axis, label: o.x ? o.x.label : "time, s", labelSize: 18, size: 30,
					splits: o.x && o.x.splits, values: (u, splits) => splits.map(v => o.x && o.x.format ? o.x.format(v) : digits3(v))},
				{...axis, label: o.y.label, labelSize: 18, size: 66,
					values: (u, splits) => splits.map(v => v === null ? "" : o.y.format(v))}],
			series: [{label: o.x ? o.x.name : "time", value: (u, v) => v === null ? "–" : this.shownX(v)},
				...o.lines.map(line => this.series(line))],
			padding: [8, o.x && o.x.right || 22, 0, 0],
			cursor: {drag: {x: this.timed, y: false, setScale: false}, points: {size: 6}, focus: {prox: -1},
				dataIdx: this.timed ? intervalAt : undefined,
				sync: this.timed ? {key: "time", setSeries: false} : undefined,
				bind: {dblclick: () => () => this.timed && setZoom(...full())}},
			legend: {show: true, live: true},
			hooks: {
				ready: [u => u.over.addEventListener("mousedown", () => dragged = this),
					u => o.pick && u.over.addEventListener("click", () => known(u.cursor.idx) && o.pick(u.cursor.idx))],
				setSelect: [u => {
					if (dragged !== this || !this.timed || u.select.width < 3)
						return; // or the cursor of another chart, which this one follows
					const [from, to] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
					u.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
					place = this.figure.closest("section").id;
					setZoom(from, to);
				}],
				drawAxes: [u => this.timed && runs[0] && markTimes(u, runs[0])],
				draw: o.draw ? [u => o.draw(u)] : [],
			},
		};
	}

	// Formats a value of x for the legend and the table.
	shownX(v) {
		const format = this.o.x ? this.o.x.shown || this.o.x.format : seconds;
		return (format || seconds)(v);
	}

	rangeX(min, max) {
		if (this.timed)
			return zoom || full();
		if (this.o.x.range)
			return this.o.x.range;
		return min === null ? [0, 1] : min === max ? [min * 0.9, max * 1.1 || 1] : [min - (max - min) * 0.04, max + (max - min) * 0.04];
	}

	rangeLog(min, max) {
		if (min === null)
			return [1e3, 1e9];
		return [10 ** Math.floor(Math.log10(min)), 10 ** Math.ceil(Math.log10(max) + 1e-9)];
	}

	series(line) {
		const {o} = this, values = line.values;
		return {label: line.name, stroke: () => colourOf(line.colour), width: line.width ?? 1.6,
			dash: line.dash || DASHES[line.run ? line.run.index % DASHES.length : 0],
			fill: line.fill ? () => colourOf(line.colour) + (line.fill === true ? "44" : line.fill) : undefined,
			points: {show: line.points ?? (line.xs().length < 3), size: 6, fill: () => colourOf(line.colour)},
			paths: line.bare ? () => null : line.stepped ? uPlot.paths.stepped({align: 1}) : this.timed && !line.gaps ? intervals(Boolean(line.fill)) : undefined, spanGaps: Boolean(line.gaps),
			value: (u, v, s, i) => i === null || i === undefined || v === null || v === undefined ? "–"
				: v === o.above ? LOST : o.y.format(line.shown ? line.shown(i) : v)};
	}

	table() {
		const {o} = this, data = this.data(), rows = data[0].length;
		const head = [[o.x ? o.x.name : "time"], ...o.lines.map(line => [line.name])];
		const step = Math.max(1, Math.ceil(rows / WIDE)), body = [];
		for (let i = 0; i < rows; i += step)
			body.push([this.shownX(data[0][i]),
				...o.lines.map((line, k) => o.y.format(line.shown ? line.shown(i) : data[k + 1][i]))]);
		return table(head, body, o.name);
	}
}

// --- the heat map ---------------------------------------------------------------------------------

const VIRIDIS = ["#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c", "#22a884", "#44bf70", "#7ad151", "#bddf26", "#fde725"]
	.map(hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)));

function viridis(share) {
	const x = Math.min(1, Math.max(0, share)) * (VIRIDIS.length - 1), i = Math.min(VIRIDIS.length - 2, Math.floor(x));
	return `rgb(${VIRIDIS[i].map((c, k) => Math.round(c + (VIRIDIS[i + 1][k] - c) * (x - i))).join(",")})`;
}

class Heat {
	constructor(parent, item, o) {
		Object.assign(this, {item, o, timed: true});
		this.canvas = el("canvas", {class: "heat", role: "img", "aria-label": o.title});
		this.readout = el("div", {class: "readout", "aria-live": "off"});
		this.key = el("canvas", {width: 140, height: 10});
		this.most = el("span");
		this.figure = el("figure", {"data-chart": o.name},
			el("figcaption", {}, o.title, el("small", {}, o.note)), this.canvas,
			el("div", {class: "legend-heat"}, "answers: 1", this.key, this.most), this.readout,
			dataTable(() => this.table()));
		this.canvas.addEventListener("pointermove", event => this.point(event));
		this.canvas.addEventListener("pointerdown", event => this.begin = this.timeAt(event));
		this.canvas.addEventListener("pointerup", event => this.end(event));
		this.canvas.addEventListener("pointerleave", () => this.readout.textContent = "");
		this.canvas.addEventListener("dblclick", () => setZoom(...full()));
		parent.append(this.figure);
		charts.push(this);
	}

	ns(wide) {
		return bucketLow(wide << HEAT_SHIFT) * 1e9 / this.item.run.hz;
	}

	// Edges of the plot in CSS pixels, and the scales.
	layout() {
		const width = this.canvas.clientWidth, height = 260;
		const box = {left: 80, top: 8, width: Math.max(10, width - 92), height: height - 56};
		const buckets = this.item.heat.flatMap(column => [...column.counts.keys()]);
		const low = buckets.reduce((a, b) => Math.min(a, b), Infinity), high = buckets.reduce((a, b) => Math.max(a, b), 0);
		const [first, last] = [Math.log10(Math.max(1, this.ns(low === Infinity ? 8 : low))), Math.log10(this.ns(high + 1))];
		const [from, to] = zoom || full();
		return {width, height, box, from, to, first, last,
			x: t => box.left + (t - from) / (to - from) * box.width,
			y: ns => box.top + box.height * (1 - (Math.log10(Math.max(1, ns)) - first) / (last - first))};
	}

	draw() {
		const l = this.layout(), ratio = devicePixelRatio, ctx = this.canvas.getContext("2d");
		const most = this.item.heat.reduce((a, column) => Math.max(a, ...column.counts.values()), 1);
		this.figure.dataset.points = this.item.heat.length;
		this.canvas.width = l.width * ratio;
		this.canvas.height = l.height * ratio;
		this.canvas.style.height = `${l.height}px`;
		ctx.scale(ratio, ratio);
		ctx.fillStyle = colourOf("card");
		ctx.fillRect(l.box.left, l.box.top, l.box.width, l.box.height);
		ctx.save();
		ctx.beginPath();
		ctx.rect(l.box.left, l.box.top, l.box.width, l.box.height);
		ctx.clip();
		for (const column of this.item.heat) {
			const left = l.x(column.from), right = l.x(column.to);
			if (right < l.box.left || left > l.box.left + l.box.width)
				continue;
			for (const [bucket, count] of column.counts) {
				const top = l.y(this.ns(bucket + 1)), bottom = l.y(this.ns(bucket));
				ctx.fillStyle = viridis(most > 1 ? Math.log(count) / Math.log(most) : 1);
				ctx.fillRect(left, top - 0.3, Math.max(1, right - left + 0.3), bottom - top + 0.6);
			}
		}
		ctx.restore();
		this.axes(ctx, l);
		this.legend(most);
	}

	axes(ctx, l) {
		const {box} = l;
		ctx.fillStyle = colourOf("soft");
		ctx.strokeStyle = colourOf("rule");
		ctx.font = "12px system-ui, sans-serif";
		ctx.textAlign = "right";
		ctx.textBaseline = "middle";
		for (let e = Math.ceil(l.first - 0.01); e <= l.last; e++) {
			ctx.fillText(time(10 ** e), box.left - 6, l.y(10 ** e));
			ctx.strokeRect(box.left - 4, l.y(10 ** e), 4, 0);
		}
		ctx.textAlign = "center";
		ctx.textBaseline = "top";
		const wanted = (l.to - l.from) / Math.max(2, Math.floor(box.width / 80)), size = 10 ** Math.floor(Math.log10(wanted));
		const step = [1, 2, 5, 10].map(f => f * size).find(v => v >= wanted);
		for (let t = Math.ceil(l.from / step) * step; t <= l.to + step / 1e6; t += step)
			ctx.fillText(digits3(t), l.x(t), box.top + box.height + 6);
		ctx.fillText("time, s", box.left + box.width / 2, box.top + box.height + 26);
		ctx.translate(12, box.top + box.height / 2);
		ctx.rotate(-Math.PI / 2);
		ctx.fillText("response time", 0, 0);
	}

	legend(most) {
		const ctx = this.key.getContext("2d");
		for (let i = 0; i < 140; i++) {
			ctx.fillStyle = viridis(i / 139);
			ctx.fillRect(i, 0, 1, 10);
		}
		this.most.textContent = exact(most);
	}

	timeAt(event) {
		const l = this.layout();
		return l.from + (event.offsetX - l.box.left) / l.box.width * (l.to - l.from);
	}

	end(event) {
		const to = this.timeAt(event), from = this.begin;
		this.begin = undefined;
		if (from === undefined || Math.abs(to - from) < (full()[1] - full()[0]) / 300)
			return;
		place = this.figure.closest("section").id;
		setZoom(Math.min(from, to), Math.max(from, to));
	}

	point(event) {
		const l = this.layout(), t = this.timeAt(event);
		const column = this.item.heat.find(one => t >= one.from && t < one.to);
		const ns = 10 ** (l.first + (1 - (event.offsetY - l.box.top) / l.box.height) * (l.last - l.first));
		const bucket = column && [...column.counts.keys()].find(b => ns >= this.ns(b) && ns < this.ns(b + 1));
		this.readout.textContent = !column ? "" : `${seconds(column.from)} to ${seconds(column.to)}: ` + (bucket === undefined
			? "no answer here" : `${exact(column.counts.get(bucket))} answers in ${time(this.ns(bucket))} to ${time(this.ns(bucket + 1))}`);
	}

	zoom() {
		this.draw();
	}

	resize() {
		this.draw();
	}

	clear() {
	}

	table() {
		const rows = this.item.heat.flatMap(column => [...column.counts].map(([bucket, count]) =>
			[seconds(column.from), seconds(column.to), time(this.ns(bucket)), time(this.ns(bucket + 1)), exact(count)]));
		return table([["from"], ["to"], ["response from"], ["to below"], ["answers"]], rows.slice(0, WIDE), this.o.name);
	}
}

// --- sections -----------------------------------------------------------------------------------------

let sections = [];

// Adds a section, unless its maker leaves it empty.
function section(id, title, heading, make) {
	const node = el("section", {id}, el("h2", {}, heading));
	make(node);
	if (node.childElementCount > 1)
		sections.push({id, title, node});
}

const several = () => runs.length > 1;
const tag = run => several() ? el("span", {class: "letter"}, run.letter) : null;
const named = (run, name) => several() ? `${run.letter}: ${name}` : name;

// Items of all results by name: [name, [item of A, item of B ...]].
function itemsByName() {
	const byName = new Map();
	for (const item of runs.flatMap(run => run.items))
		byName.set(item.name, [...(byName.get(item.name) || []), item]);
	return [...byName];
}

// A question, with the item's name if there are several, and the letter of the result if one chart cannot show all.
function question(words, name, run) {
	const before = (run && several() ? `${run.letter}: ` : "") + (name !== undefined && itemsByName().length > 1 ? `${name}: ` : "");
	return before ? before + words : words[0].toUpperCase() + words.slice(1);
}

const hasIntervals = items => items.some(item => item.run.t.length);

// Lines of a chart over time: rows of [name, member, colour, more] for each item.
function timeLines(items, rows) {
	return items.flatMap(item => rows.map(([name, member, colour, more]) => ({run: item.run, xs: () => item.run.t,
		name: named(item.run, name), values: () => item[member], colour, ...more})));
}

const VERDICTS = {pass: ["PASS", "pass"], fail: ["FAIL", "fail"], invalid: ["INVALID", "invalid"], done: ["DONE", "done"],
	unreachable: ["UNREACHABLE", "fail"], interrupted: ["INTERRUPTED", "invalid"], incomplete: ["INCOMPLETE", "invalid"]};
const SHAPES = {pass: "M2 9 L7 14 L16 3", fail: "M3 3 L15 15 M15 3 L3 15", invalid: "M9 2 L17 16 L1 16 Z M9 7 L9 11 M9 13.4 L9 14",
	done: "M2 9 L16 9"};

function badge(status) {
	const [word, kind] = VERDICTS[status] || [status.toUpperCase() || "NO VERDICT", "done"];
	return el("span", {class: `badge ${kind}`, "data-verdict": word},
		el("svg", {viewBox: "0 0 18 18", "aria-hidden": "true"},
			el("path", {d: SHAPES[kind], fill: "none", stroke: "currentColor", "stroke-width": 2.4})), word);
}

const NOT_JUDGED = {done: "no criteria, so nothing was judged",
	invalid: "the tester was too slow or its port failed, so the run says nothing about the server", unreachable: "no server answered",
	interrupted: "the run was stopped before its end, so it is not judged",
	broken: "the tester's own counters contradict each other, so trust no figure",
	load: "too few clients or connections were free, so this is not the requested load",
	disturbance: "other programs had the tester's CPU, so the run says nothing about the server",
	down: "the tester's link was down, so the run says nothing about the server",
	event: "an event failed, so the run is not the one that was asked for",
	partial: "a run of the series could not begin, so the series is incomplete"};

// Returns why a run is not judged; undefined: it is.
function notJudged(run) {
	const status = text(run.doc, "verdict.status"), code = number(run.doc, "verdict.exit_code");
	const why = at(run.doc, "verdict.reasons"), reasons = status === "invalid" && Array.isArray(why) ? why : [];
	const down = reasons.some(reason => reason.includes(": the link was down "));
	const event = reasons.length && reasons.every(reason => reason.includes('event "')), cause = text(run.doc, "verdict.cause");
	if (cause)
		return `${cause}, so the run says nothing about the server`;
	return NOT_JUDGED[code === 6 ? "broken" : code === 2 || code === 3 ? "partial" : ["load", "disturbance"].includes(text(run.doc, "verdict.invalid_by")) ? text(run.doc, "verdict.invalid_by") : down ? "down" : event ? "event" : status];
}

// The sentence that the terminal prints behind the verdict.
function sentence(run) {
	const total = name => sum(run.items.map(item => number(item.doc, name)));
	const [sent, answered, free] = [total("sent"), total("answered"), total("no_reply")];
	const parts = [], criteria = list(at(run.doc, "verdict.criteria")), failed = criteria.filter(c => c.pass !== true);
	const goal = list(at(run.doc, "search.goals"))[0];
	if (goal && known(number(goal, "answer")))
		parts.push(`${exact(goal.answer)} is the highest ${text(run.doc, "search.variable")} found that meets ${text(goal, "goal")}`
			+ ({server: "", undecided: "; whether the server does more is undecided, as others had the CPU"}[text(goal, "limited_by")] ?? ", but the server's own limit was not reached"));
	else if (goal)
		parts.push(`no ${text(run.doc, "search.variable")} was found that meets ${text(goal, "goal")}`);
	else if (!sent)
		parts.push("nothing was sent");
	else if (free === sent) {
		const [rate, bits] = oneWay(run);
		parts.push(`${exact(sent)} messages sent one way, ${perSecond(rate)}` + (bits ? `, ${megabits(bits)}` : ""));
	} else if (answered + free === sent)
		parts.push(`${exact(sent)} requests sent, `
			+ (free ? `${exact(answered)} answered in time, ${exact(free)} need no reply` : "all answered in time"));
	else
		parts.push(`${exact(sent)} requests sent, ${exact(answered)} answered in time`
			+ (total("failed") ? `, ${exact(total("failed"))} failed` : "")
			+ (total("lost") ? `, ${exact(total("lost"))} lost (${percent(total("lost") / sent)})` : ""));
	if (notJudged(run))
		return `${notJudged(run)} (${parts[0]})`;
	if (failed.length === 1)
		parts.push(`criterion not met: ${text(failed[0], "expression")}`);
	else if (failed.length)
		parts.push(`${failed.length} of ${criteria.length} criteria are not met`);
	else if (criteria.length)
		parts.push(criteria.length === 1 ? "the criterion is met" : `all ${criteria.length} criteria are met`);
	return parts.join("; ");
}

const LIMITS = {none: "nothing", tester: "the tester", wire: "the wire", server: "the server", undecided: "the server or this box (undecided)"};

// The slowest item decides the latency in the head; a rank among lost transactions is the slowest.
function slowest(run, name) {
	const values = run.items.map(item => {
		const value = at(item.doc, `latency.response.${name}_ns`);
		return [value === null && number(item.doc, "lost") > 0 ? Infinity : number(item.doc, `latency.response.${name}_ns`), item];
	}).filter(([value]) => !Number.isNaN(value));
	return values.reduce((a, b) => a[1] === null || b[0] > a[0] ? b : a, [NaN, null]);
}

// Returns the rates of messages and of bits if all messages of the run go one way; null: some are answered.
function oneWay(run) {
	const total = name => sum(run.items.map(item => number(item.doc, name)));
	return total("sent") && total("no_reply") === total("sent") ? [total("sent_per_s"), total("request_bps") || 0] : null;
}

function megabits(bits) {
	return `${+(bits / 1e6).toPrecision(4)} Mbit/s`;
}

function big(run) {
	const sole = oneWay(run);
	const sent = sum(run.items.map(item => number(item.doc, "sent")));
	const lost = sum(run.items.map(item => number(item.doc, "lost")));
	const [[p50], [p99, item]] = [slowest(run, "p50"), slowest(run, "p99")];
	const of = run.items.length > 1 && item ? ` of ${item.name}` : "";
	const answer = at(run.doc, "search.answer"), cells = [
		sole && sole[1] ? [megabits(sole[1]), "sent one way"] : sole ? [perSecond(sole[0]), "sent per second, one way"]
			: [perSecond(sum(run.items.map(one => number(one.doc, "answered_per_s")))), run.live ? "answered per second, now" : "answered per second"],
		[sent ? percent(lost / sent) : "–", run.live ? "loss so far" : "loss"],
		[time(p50), `response time, p50${of}`],
		[time(p99), `response time, p99${of}`],
		run.live ? [exact(sum(run.items.map(item => number(item.doc, "in_flight")))), "in flight"]
			: text(run.doc, "verdict.limited_by") === "undecided" ? ["undecided", "limited by: the server or this box"]
			: [LIMITS[text(run.doc, "verdict.limited_by")] || "–", "limited by"]];
	if (answer !== undefined)
		cells.unshift([typeof answer === "number" ? exact(answer) : run.live ? "none yet" : "none", "highest load that met the goal"]);
	return el("div", {class: "big"}, cells.map(([value, name]) => el("div", {}, el("b", {}, value), el("span", {}, name))));
}

function labels(run) {
	const all = at(run.doc, "run.labels");
	return Array.isArray(all) ? all.join(", ") : "";
}

// The servers of a run, with their port unless it is the protocol's.
function serversOf(run) {
	return [...new Set(list(at(run.doc, "config.traffic")).filter(item => text(item, "server")).map(item => {
		const server = text(item, "server"), port = number(item, "server_port");
		return !port ? server : server.includes(":") ? `[${server}]:${port}` : `${server}:${port}`;
	}))];
}

// "5 000 per second", "100 in flight"; "": another shape.
function loadOf(item) {
	const [rate, kept] = [at(item, "load.rate"), at(item, "load.outstanding")];
	return typeof rate === "number" ? `${exact(rate)} per second` : typeof kept === "number" ? `${exact(kept)} in flight` : "";
}

// The loads of a run; none of a search, which varies them.
function loadsOf(run) {
	const items = at(run.doc, "search") ? [] : list(at(run.doc, "config.traffic"));
	return items.map(item => loadOf(item) && (items.length > 1 ? `${text(item, "name")}: ${loadOf(item)}` : loadOf(item))).filter(Boolean).join(", ");
}

// For a tab or a bookmark: name, server and load.
function titleOf(run) {
	const name = text(run.doc, "run.name") || run.file;
	return [name, serversOf(run).join(", "), loadsOf(run)].filter(Boolean).join(", ");
}

function head(page) {
	for (const run of runs) {
		const name = text(run.doc, "run.name") || run.file || "result";
		page.append(el("div", {class: "result"}, el("h1", {}, tag(run), name),
			el("div", {class: "verdict"}, badge(text(run.doc, "verdict.status")), el("p", {}, sentence(run))),
			big(run), facts([["note", text(run.doc, "run.note")], ["labels", labels(run)],
				["started", text(run.doc, "run.started").replace("T", " ").replace("Z", " UTC")],
				["measured", known(number(run.doc, "run.measured_s")) ? seconds(number(run.doc, "run.measured_s")) : ""],
				["server", serversOf(run).join(", ")],
				["load", loadsOf(run)],
				["box", [text(run.doc, "run.host.cpu"), text(run.doc, "run.host.driver")].filter(Boolean).join(", driver ")],
				["file", several() ? run.file : ""]])));
	}
}

// --- criteria -------------------------------------------------------------------------------------

// Returns {op, bound, value, format}; null: no bound that a bar could show.
function parseBound(expression, value) {
	const found = /(<=|>=|==|<|>)\s*([\d.]+)\s*(%|ns|us|ms|s|m|h|k|M|G)?$/.exec(expression);
	if (!found)
		return null;
	const [, op, digits, unit = ""] = found;
	const bound = unit === "%" ? digits / 100 : digits * (UNITS[unit] && unit !== "" ? UNITS[unit] : FACTORS[unit] || 1);
	return {op, bound, value, format: unit === "%" ? percent : UNITS[unit] ? time : exact};
}

const signed = v => `${v >= 0 ? "+" : "−"}${digits3(Math.abs(v))}`;

function margin(b) {
	if (!b || b.op === "==" || !(b.bound > 0) || !known(b.value))
		return "";
	const share = (b.op.startsWith("<") ? b.bound - b.value : b.value - b.bound) / b.bound;
	const scale = Math.max(b.bound * 1.25, Math.min(b.value, b.bound * 4));
	return [el("span", {class: "bar", "aria-hidden": "true"}, el("i", {style: `width:${Math.min(100, 100 * b.value / scale)}%`}),
		el("u", {style: `left:${100 * b.bound / scale}%`})),
		b.value >= 10 * b.bound ? " over 10 times the bound" : ` ${signed(100 * share)} %`];
}

function criteria(node) {
	for (const run of runs) {
		const rows = list(at(run.doc, "verdict.criteria")).map(c => {
			const b = parseBound(text(c, "expression"), number(c, "value")), pass = c.pass === true, open = run.live && typeof c.pass !== "boolean";
			const value = typeof c.value === "number" ? (b ? b.format : exact)(c.value) : c.value === null && !open ? (sum(run.items.map(item => number(item.doc, "lost"))) ? LOST : "no sample") : "–";
			const kind = open ? "soft" : pass ? "pass" : "fail";
			return [el("span", {class: kind}, open ? "· open" : pass ? "✓ pass" : "✗ FAIL"), text(c, "expression"), value,
				b ? `${b.op} ${b.format(b.bound)}` : "–", el("span", {class: kind}, margin(b))];
		});
		const reasons = at(run.doc, "verdict.reasons");
		if (rows.length)
			node.append(several() ? el("h3", {}, tag(run)) : "", table([["", "text"], ["criterion", "text expression"], ["figure"],
				["bound"], ["margin to the bound", "text"]], rows, "criteria", true));
		if (Array.isArray(reasons) && reasons.length)
			node.append(el("h3", {}, tag(run), "Reasons"), el("ul", {"data-list": "reasons"},
				reasons.map(reason => el("li", {}, String(reason)))));
	}
}

// --- load and latency over time ---------------------------------------------------------------------

// Under load only: after it an interval may contain nothing but losses, which is 100 %.
function lossUnderLoad(item) {
	const measured = number(item.run.doc, "run.measured_s");
	return item.loss.map((v, i) => item.run.t[i] > measured * 1.0001 ? NaN : v);
}

// A column for each item where the window is wide.
function columns(node) {
	const box = el("div", {class: itemsByName().length > 1 ? "charts two" : "charts"});
	node.append(box);
	return box;
}

function load(node) {
	const warm = text(runs[0].doc, "config.run.warmup"), all = itemsByName().filter(([, items]) => hasIntervals(items));
	const box = all.length && columns(node);
	for (const [name, items] of all) {
		const column = el("div");
		box.append(column);
		new Chart(column, {name: `load ${name}`, title: question("requests over time", name),
			note: "transactions per second" + (warm && warm !== "0s" ? `; the warm-up of ${warm} before is not shown` : "")
				+ "; grey: after the load; marks at the bottom: the tester was descheduled",
			y: {label: "per second", format: si}, lines: timeLines(items, [["due", "due", "due", {width: 3}],
				["sent", "sent", "sent"], ["answered", "answered", "answered"]])});
		new Chart(column, {name: `loss ${name}`, title: question("loss over time", name), height: 150,
			y: {label: "lost", format: percent, least: 0.01}, lines: items.map(item => ({run: item.run, xs: () => item.run.t,
				name: named(item.run, "loss"), values: () => lossUnderLoad(item), colour: "loss", fill: true}))});
	}
}

// Nines: 50 % is 0.301, 99.9 % is 3.
const NINES = [Math.log10(2), ...Array.from({length: 94}, (_, i) => 0.35 + i * 0.05)].filter(n => n <= 5.0001);
const nineName = n => `${digitsOf(100 - 100 * 10 ** -n)} %`;
const digitsOf = v => String(Number(v.toFixed(v < 99 ? 0 : v < 99.9 ? 1 : v < 99.99 ? 2 : 3)));
const NINE_TICKS = [Math.log10(2), 1, 2, 3, 4, 5];

// Ranks that the samples do not reach are left out.
function curve(latency, run, lost) {
	const r = ranks(parseHistogram(at(latency, "histogram")), number(latency, "max_ns"), run.hz, lost);
	return NINES.map(n => 10 ** n <= r.total * 1.0001 ? r.at(1 - 10 ** -n) : NaN);
}

function latencyLines(items) {
	return items.flatMap(item => [["response", "p99", known(number(item.doc, "lost")) ? number(item.doc, "lost") : 0], ["service", "service", 0]]
		.map(([kind, colour, lost]) => ({kind, colour, lost, item}))
		.filter(one => text(item.doc, `latency.${one.kind}.histogram`))
		.map(one => {
			const values = curve(at(item.doc, `latency.${one.kind}`), item.run, one.lost);
			return {run: item.run, xs: () => NINES, name: named(item.run, one.kind), values: () => values, colour: one.colour, width: 2};
		}));
}

function latency(node) {
	const all = itemsByName(), outer = all.length > 1 ? columns(node) : node;
	for (const [name, items] of all) {
		const box = el("div", {class: all.length > 1 ? "" : "charts two"}), item = items[0], lines = latencyLines(items);
		const above = Math.max(...items.map(one => one.above));
		const own = number(item.run.doc, "run.tester_delay.single.p99_ns");
		const marks = u => {
			markLine(u, item.timeout, `timeout ${time(item.timeout)}; lost above`, [6, 4]);
			markLine(u, own, `the tester itself: ${time(own)}`, [2, 3]);
		};
		if (hasIntervals(items))
			new Chart(box, {name: `latency ${name}`, title: question("response time over time", name), above, draw: marks,
				note: "response time, from the due time; logarithmic", y: {label: "response time", format: time, log: true},
				lines: timeLines(items, [["max of the answered", "max", "max", {width: 1}], ["p99", "p99", "p99"], ["p90", "p90", "p90"], ["p50", "p50", "p50"]])});
		if (lines.length)
			new Chart(box, {name: `percentiles ${name}`, title: question("response time by share of answers", name), above, draw: marks,
				note: "response: from the due time; service: from the send" + (known(own) ? `; the tester itself adds ${time(own)} (p99)` : ""),
				x: {label: "share of answers that were faster", name: "share", format: nineName, range: [Math.log10(2), 5], right: 30, splits: () => NINE_TICKS},
				y: {label: "time", format: time, log: true}, lines});
		if (box.childElementCount)
			outer.append(box);
	}
	outer === node || outer.childElementCount || outer.remove();
}

function heat(node) {
	const all = runs.flatMap(run => run.items).filter(item => item.heat.some(column => column.counts.size)), box = all.length && columns(node);
	for (const [name, items] of itemsByName())
		for (const item of items)
			if (all.includes(item))
				new Heat(box, item, {name: `heat ${named(item.run, name)}`, title: question("answers by time and response time", name, item.run),
					note: "stalls are stripes, queues are ramps; colour: answers in a field, logarithmic"});
}

// --- answers and steps ------------------------------------------------------------------------------

// A label has the same colour in all results; labels without a fixed colour take the rest.
const LABEL_COLOURS = {NOERROR: "s1", NXDOMAIN: "s3", SERVFAIL: "s6", REFUSED: "s4", FORMERR: "s2", ACK: "s1", OFFER: "s5", NAK: "s6",
	REPLY: "s1", ADVERTISE: "s5", others: "s7"};

function labelColours(names) {
	const colours = new Map(names.filter(name => Object.hasOwn(LABEL_COLOURS, name)).map(name => [name, LABEL_COLOURS[name]]));
	const left = ["s1", "s2", "s3", "s4", "s5", "s6"].filter(colour => ![...colours.values()].includes(colour));
	for (const name of names)
		if (!colours.has(name))
			colours.set(name, left.shift() || "s7");
	return colours;
}

function stacked(item, rates) {
	const names = [...rates.keys()].filter(label => label !== "others");
	if (rates.has("others"))
		names.push("others");
	const colours = labelColours(names);
	// The first label lies at the bottom: line i is the sum up to it, and drawn before the lines below.
	const sums = i => item.run.t.map((_, k) => sum(names.slice(0, i + 1).map(label => rates.get(label)[k])));
	return names.map((label, i) => ({run: {index: 0}, xs: () => item.run.t, name: label, values: () => sums(i),
		shown: k => rates.get(label)[k], colour: colours.get(label), fill: "ff", width: 1})).reverse();
}

function steps(item) {
	const all = list(at(item.doc, "steps"));
	if (!all.length)
		return null;
	const greatest = Math.max(1, ...all.map(step => number(step, "latency.response.p99_ns") || 0));
	const bar = (step, name, colour) => barOf(at(step, `latency.response.${name}_ns`) === null && step.lost > 0 ? Infinity
		: number(step, `latency.response.${name}_ns`), colour);
	const barOf = (v, colour) => known(v) ? [time(v), el("span", {class: "bar small", style: `color:var(--${colour})`},
		el("i", {style: `width:${Math.min(100, 100 * v / greatest)}%`}))] : "–";
	return [el("h3", {}, tag(item.run), question("which step took how long?", item.name)), table([["step", "text"], ["sent"], ["answered"], ["failed"],
		["lost"], ["p50 response"], ["p99 response"]], all.map(step => [text(step, "name"), exact(number(step, "sent")), exact(number(step, "answered")),
		exact(number(step, "failed")), exact(number(step, "lost")), bar(step, "p50", "p50"),
		bar(step, "p99", "p99")]), "steps")];
}

function servers(item) {
	const all = list(at(item.doc, "servers"));
	return all.length ? [el("h3", {}, tag(item.run), question("what did each server do?", item.name)), table([["server", "text"], ["sent"],
		["answered"], ["failed"], ["lost"], ["share"], ["longest gap"]], all.map(server => [text(server, "name"), exact(number(server, "sent")),
		exact(number(server, "answered")), exact(number(server, "failed")), exact(number(server, "lost")), percent(number(server, "share")),
		time(number(server, "longest_gap_ns"))]), "servers")] : null;
}

// Distributions of times: [name, latency].
function times(item, title, what, all, name) {
	const columns = ["min", "p50", "p90", "p99", "max"], rows = all.filter(([, latency]) => number(latency, "count"));
	return rows.length ? [el("h3", {}, tag(item.run), question(title, item.name)),
		table([[what, "text"], ["count"], ...columns.map(title => [title])], rows.map(([of, latency]) => [of,
			exact(number(latency, "count")), ...columns.map(column => time(number(latency, `${column}_ns`)))]), name)] : null;
}

// The waits of an item that follows another item.
function marks(item) {
	return times(item, "how long after the lease?", "record", list(at(item.doc, "marks")).map(mark => [text(mark, "name"), mark.latency]), "marks");
}

const CONNECTION_TIMES = [["TCP handshake", "handshake"], ["full TLS handshake", "tls.full_time"], ["resumed TLS handshake", "tls.resumed_time"],
	["the tester's part of these", "tls.own"], ["to the first answer", "first_answer"]];

function connections(item) {
	return times(item, "how long did a connection take?", "part",
		CONNECTION_TIMES.map(([name, path]) => [name, at(item.doc, `connections.${path}`)]), "connections");
}

// Counters of a section that are not 0, with their labels.
function counters(item, section) {
	const rows = [], walk = (object, prefix) => {
		for (const [key, value] of Object.entries(object))
			if (value && typeof value === "object")
				walk(value, `${prefix}${key}.`);
			else if (value && !key.endsWith("_ns"))
				rows.push([prefix + key, typeof value === "number" ? exact(value) : String(value)]);
	};
	walk(at(item.doc, section) || {}, "");
	return rows.length ? el("details", {class: "data"}, el("summary", {}, `All ${section} counters of ${named(item.run, item.name)}`),
		el("div", {}, table([["counter", "text"], ["count"]], rows, "counters"))) : null;
}

const GROUPS = {rcode: "answers per second, by RCODE", received: "messages received per second, by type"};

function answers(node) {
	for (const [name, items] of itemsByName())
		for (const item of items) {
			if (item.answers.size && item.run.t.length)
				new Chart(node, {name: `answers ${named(item.run, name)}`, title: question(GROUPS[item.group] || "answers per second", name, item.run),
					note: "one above the other", y: {label: "per second", format: si}, lines: stacked(item, item.answers)});
			if (item.servers.size && item.run.t.length)
				new Chart(node, {name: `servers ${named(item.run, name)}`, title: question("which server answered?", name, item.run),
					note: "answers per second, one server above the other", y: {label: "per second", format: si}, lines: stacked(item, item.servers)});
			node.append(...[servers(item), steps(item), marks(item), counters(item, item.protocol), connections(item),
				counters(item, "connections")].flat().filter(Boolean));
		}
}

// --- the ledger ---------------------------------------------------------------------------------------

const OUTCOMES = [["answered", "answered", "answered"], ["failed", "failed", "failed"], ["lost", "lost", "loss"],
	["no_reply", "need no reply", "sent"], ["in_flight", "in flight", "other"]];
const BESIDE = [["late", "late (after the timeout)"], ["duplicate", "duplicate"], ["stray", "stray (matched nothing)"], ["malformed", "malformed"]];

function bars(due, parts) {
	return el("div", {class: "parts"}, parts.filter(([v]) => v > 0).map(([v, name, colour]) =>
		el("i", {style: `flex:${v / due} 0 0;background:var(--${colour})`, title: `${name}: ${exact(v)}`,
			class: v / due < 0.12 ? "thin" : ["answered", "loss"].includes(colour) ? "dark" : null}, v / due < 0.12 ? "" : name)));
}

function ledger(node) {
	for (const [name, items] of itemsByName())
		for (const item of items) {
			const count = key => number(item.doc, key) || 0, due = count("due");
			if (!due)
				continue;
			const out = [[count("sent"), "sent", "sent"], [count("unsent"), "unsent", "unsent"]];
			const back = OUTCOMES.map(([key, label, colour]) => [count(key), label, colour]);
			const beside = BESIDE.filter(([key]) => count(key)).map(([key, label]) => `${label}: ${exact(count(key))}`);
			const row = ([v, label, colour]) => v > 0 ? el("li", {}, el("i", {style: `background:var(--${colour})`}),
				`${label} ${exact(v)} (${percent(v / due)})`) : null;
			node.append(several() || itemsByName().length > 1 ? el("h3", {}, tag(item.run), name) : "",
				el("div", {class: "flow", role: "img", "aria-label": "widths to scale", "data-ledger": item.name},
					el("span", {}, "due"), bars(due, [[due, "due", "due"]]), el("span", {}, "went out"), bars(due, out),
					el("span", {}, "came back"), bars(due, [...back, [count("unsent"), "unsent", "unsent"]])),
				el("ul", {class: "key"}, row([due, "due", "due"]), out.map(row), back.map(row)),
				el("p", {class: "soft"}, beside.length ? `Beside these: ${beside.join(", ")}.` : "No late, duplicate, stray or malformed reply came."));
		}
}

// --- the limit ------------------------------------------------------------------------------------------

// A row; empty if the result does not have the value.
const say = (name, value, format) => known(value) ? [name, format(value)] : [name, ""];

// The members of dut.counters that changed most.
const counted = doc => list(at(doc, "dut.counters")).map(one => [text(one, "name"), number(one, "difference")])
	.filter(([, v]) => v).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 12).map(([name, v]) => [`counter: ${name}`, digits3(v)]);

function limitCards(run) {
	const {doc} = run, ports = list(at(doc, "ports")), used = [...new Set(run.items.map(item => text(item.doc, "port")))];
	const mine = ports.filter(port => used.includes(text(port, "name")));
	const drops = sum(mine.flatMap(port => ["rx_missed", "rx_no_mbuf", "tx_no_mbuf", "hand_over_full"].map(key => number(port, key))));
	const total = key => sum(run.items.map(item => number(item.doc, key)));
	const worst = (path, from) => Math.max(...from.map(one => number(one, path)).filter(known));
	const finite = v => Number.isFinite(v) ? v : NaN, docs = run.items.map(item => item.doc);
	return {
		tester: [...run.workers.map((worker, i) => say(`worker ${i}${known(number(worker.doc, "cpu")) ? ` (CPU ${exact(number(worker.doc, "cpu"))})` : ""} busy`, number(worker.doc, "busy"), percent)),
			say("due but unsent", total("unsent"), exact), say("send lag, p99", finite(worst("send_lag.p99_ns", docs)), time),
			say("packets dropped", drops, exact), say("descheduled", sum(run.workers.map(w => number(w.doc, "stolen_s"))), seconds),
			say("longest time without it", finite(worst("max_gap_ns", run.workers.map(w => w.doc))), time),
			say("CPU of its box", number(doc, "cpu.used"), percent)],
		wire: mine.flatMap(port => [say(`${text(port, "name")}: link used`, number(port, "link_bps") ? number(port, "link_used") : NaN, percent),
			say("packets sent", number(port, "tx_packets"), exact), say("packets received", number(port, "rx_packets"), exact),
			say("refused by the device", number(port, "tx_refused"), exact), say("link lost", number(port, "link_downs"), exact)]),
		server: [say("lost", total("lost"), exact), say("failed", total("failed"), exact),
			say("longest time without an answer", finite(worst("longest_gap_ns", docs)), time),
			say("CPU, by probe", number(doc, "dut.used"), percent), ...counted(doc), say("requests received (responder)", number(doc, "responder.received"), exact),
			say("answered (responder)", number(doc, "responder.answered"), exact), say("descheduled (responder)", number(doc, "responder.stolen_s"), seconds),
			...Object.entries(at(doc, "responder.faults") || {}).filter(([, v]) => v > 0).map(([k, v]) => [`fault: ${k}`, exact(v)])]};
}

function limit(node) {
	for (const run of runs) {
		const by = text(run.doc, "verdict.limited_by"), cards = limitCards(run);
		if (run.live || !by && !run.workers.length)
			continue;
		node.append(el("h3", {}, tag(run), by === "none" ? "Nothing was the limit: the load was sent as asked for and answered"
			: `Limited by ${LIMITS[by] || "an unknown part"}`), el("div", {class: "cards"}, Object.entries(cards).map(([who, rows]) =>
			el("div", {class: by === who ? "card limit" : "card", "data-limit": who}, el("h3", {}, who, by === who ? " ◀ decided" : ""), facts(rows)))));
	}
	const lines = runs.flatMap(run => run.workers.map((worker, i) => ({run, xs: () => run.t, name: named(run, `worker ${i}`),
		values: () => worker.busy, colour: `s${i % 6 + 1}`})));
	if (lines.length && runs.some(run => run.t.length))
		new Chart(node, {name: "workers", title: "How busy was the tester?", note: "share of its time that a worker had packets to send or receive",
			height: 170, y: {label: "busy", format: percent}, lines});
	probes(node);
}

// Figures of the server's side, each in its own unit; several results share the chart of a name.
function probes(node) {
	const box = el("div", {class: "charts two"});
	for (const name of new Set(runs.flatMap(run => [...run.probed.keys()]))) {
		const with_it = runs.filter(run => run.probed.has(name)), share = with_it.every(run => text(run.doc, "dut.format") === "proc_stat");
		new Chart(box, {name: `probe ${name}`, title: share ? "How busy was the server's box?" : `The server's ${name}`,
			note: share ? "share of all its CPUs, by dut.probe" : "as dut.probe printed it", height: 170,
			y: {label: share ? "CPU used" : name, format: share ? percent : si, from: Math.min(0, ...with_it.flatMap(run => run.probed.get(name)).filter(known))},
			lines: with_it.map(run => ({run, xs: () => run.t, name: named(run, name), values: () => run.probed.get(name), colour: "service", gaps: true, points: run.t.length < 400}))});
	}
	box.childElementCount && node.append(box);
}

// --- search and repeats -------------------------------------------------------------------------------

// Points by shape: a ring passed, a cross failed, a dot is invalid.
function drawShapes(u, points) {
	const {ctx} = u, r = 4 * devicePixelRatio;
	ctx.save();
	ctx.lineWidth = 2 * devicePixelRatio;
	for (const [px, py, verdict] of points) {
		if (!known(px) || !known(py))
			continue;
		const x = u.valToPos(px, "x", true), y = u.valToPos(py, "y", true);
		ctx.strokeStyle = ctx.fillStyle = colourOf(verdict === "pass" ? "pass" : verdict === "fail" ? "fail" : "soft");
		ctx.beginPath();
		if (verdict === "fail") {
			ctx.moveTo(x - r, y - r);
			ctx.lineTo(x + r, y + r);
			ctx.moveTo(x + r, y - r);
			ctx.lineTo(x - r, y + r);
		} else {
			ctx.arc(x, y, verdict === "pass" ? r : r / 2, 0, 2 * Math.PI);
		}
		verdict === "pass" || verdict === "fail" ? ctx.stroke() : ctx.fill();
	}
	ctx.restore();
}

// Lines up at values of x, with their names one below the other.
function markRates(u, marks) {
	const {ctx, bbox} = u, ratio = devicePixelRatio;
	ctx.save();
	ctx.fillStyle = colourOf("ink");
	ctx.font = `${11 * ratio}px system-ui, sans-serif`;
	ctx.textBaseline = "top";
	const byRate = new Map();
	for (const [v, name] of marks)
		if (known(v))
			byRate.set(v, [...(byRate.get(v) || []), name]);
	[...byRate].forEach(([v, names], i) => {
		const x = u.valToPos(v, "x", true);
		ctx.fillRect(x, bbox.top, ratio, bbox.height);
		ctx.textAlign = x > bbox.left + bbox.width / 2 ? "right" : "left";
		ctx.fillText(` ${names.join(" and ")} ${exact(v)} `, x, bbox.top + (2 + 14 * i) * ratio);
	});
	ctx.restore();
}

// The best load with this verdict after each trial; NaN before the first.
function bracket(trials, verdict, best) {
	let found = NaN;
	return trials.map(trial => {
		const rate = number(trial, "rate");
		if (text(trial, "verdict") === verdict)
			found = known(found) ? best(found, rate) : rate;
		return found;
	});
}

function search(node) {
	for (const run of runs) {
		const found = at(run.doc, "search"), trials = list(at(found, "trials"));
		if (!trials.length)
			continue;
		const sorted = [...trials].sort((a, b) => number(a, "rate") - number(b, "rate")), rates = sorted.map(trial => number(trial, "rate"));
		const order = trials.map((_, i) => i + 1), box = el("div", {class: "charts two"});
		const answer = number(found, "answer"), ramp = text(found, "method") === "ramp";
		const marks = [[answer, "answer"], [number(found, "knee"), "knee"], [number(found, "peak.rate"), "peak"],
			[number(found, "collapse.rate"), "collapse"]];
		const x = {label: text(found, "variable") || "load", name: "load", format: si};
		const shape = (key, above) => u => drawShapes(u, sorted.map(trial => {
			const value = at(trial, key);
			return [number(trial, "rate"), value === null && above ? above : number(trial, key), text(trial, "verdict")];
		}));
		const line = (key, colour, more) => ({run, xs: () => rates, name: named(run, key.replace(/_(per_s|ns)$/, "")), values: () => sorted.map(trial =>
			at(trial, key) === null && key.endsWith("_ns") && trial.loss > 0 ? Infinity : number(trial, key)), colour, bare: true, points: false, ...more});
		// The goals name the percentiles that they limit.
		const limits = list(at(found, "goals")).flatMap(goal => text(goal, "goal").match(/\bp\d+(?= <=)/g) || []);
		const shown = ["p50", "p90", "p95", "p99", "p999"].filter(p => p === "p99" || limits.includes(p)), slow = shown.join(" and ");
		const above = 1.6 * Math.max(1e6, ...run.items.map(item => item.timeout).filter(known));
		node.append(el("p", {}, tag(run), `${text(found, "method")} over ${text(found, "variable")}: `, el("b", {}, known(answer) ? exact(answer) : run.live ? "no answer yet" : "no answer"),
			list(at(found, "goals")).map(goal => `; goal ${text(goal, "goal")}: ${known(number(goal, "answer")) ? exact(goal.answer) : "none"}, `
				+ `not met at ${known(number(goal, "upper")) ? exact(goal.upper) : "–"}`).join(""), ". Rings passed, crosses failed, dots were not judged."), box);
		new Chart(box, {name: `search loss ${run.letter}`, title: question("how much was lost at which load?", undefined, run), note: "loss of each trial", x,
			y: {label: "loss", format: percent, from: -0.005}, lines: [line("loss", "loss")], draw: u => {
				shape("loss")(u);
				markRates(u, marks.slice(0, 1));
			}});
		new Chart(box, {name: `search latency ${run.letter}`, title: question("how slow at which load?", undefined, run), note: `${slow} response of each trial; lost: at the top`, x, above,
			y: {label: slow, format: time, log: true}, lines: shown.map(p => line(`${p}_ns`, {p95: "p90", p999: "max"}[p] || p)),
			draw: u => shown.forEach(p => shape(`${p}_ns`, above)(u))});
		new Chart(box, {name: `search answered ${run.letter}`, title: question("how much was answered at which load?", undefined, run),
			note: "answered per second; knee: where the latency begins to rise", x, y: {label: "answered per second", format: si},
			lines: [line("answered_per_s", "answered", ramp ? {bare: false} : {})], draw: u => {
				shape("answered_per_s")(u);
				markRates(u, marks);
			}});
		if (!ramp)
			new Chart(box, {name: `search order ${run.letter}`, title: question("how did the search close in?", undefined, run),
				note: "load of each trial, in their order; between the lines: the highest that met the goal, the lowest that did not",
				x: {label: "trial", name: "trial", format: v => Number.isInteger(v) ? String(v) : ""}, y: {label: "load", format: si},
				lines: [{run, xs: () => order, name: named(run, "load"), values: () => trials.map(trial => number(trial, "rate")), colour: "soft", bare: true, points: false},
					{run, xs: () => order, name: named(run, "met"), values: () => bracket(trials, "pass", Math.max), colour: "pass", stepped: true, points: false},
					{run, xs: () => order, name: named(run, "not met"), values: () => bracket(trials, "fail", Math.min), colour: "fail", stepped: true, points: false}],
				draw: u => {
					drawShapes(u, trials.map((trial, i) => [i + 1, number(trial, "rate"), text(trial, "verdict")]));
					markLine(u, answer, `answer ${exact(answer)}`, [6, 4]);
				}});
	}
}

// "latency.response.p99_ns" in words.
const words = path => path.replace("latency.", "").replace(/_ns$/, "").replace("per_s", "per second").replace(/[._]/g, " ");
const formatOf = path => path.endsWith("_ns") ? time : path.endsWith("_per_s") ? perSecond : path === "loss" || path.endsWith(".used") ? percent : exact;

function repeats(node) {
	for (const run of runs) {
		const all = list(at(run.doc, "repeats")), box = el("div", {class: "charts two"});
		if (all.length < 2)
			continue;
		const count = all.map((_, i) => i + 1);
		for (const figure of list(at(run.doc, "confidence.figures"))) {
			const path = text(figure, "figure"), format = formatOf(path), mean = number(figure, "mean");
			const [low, high] = [number(figure, "low"), number(figure, "high")];
			const values = all.map(one => {
				const item = list(at(one, "traffic")).find(item => text(item, "name") === text(figure, "item"));
				if (!at(figure, "item"))
					return number(one, path.replace(".", "_"));
				return at(item, path) === null && number(item, "lost") > 0 ? Infinity : number(item, path);
			});
			const above = 1.6 * Math.max(1, ...values.filter(Number.isFinite), ...run.items.map(item => path.endsWith("_ns") && item.timeout || 0));
			const reach = [low, high, ...values.map(v => v === Infinity ? above : v)].filter(known);
			const pad = (Math.max(...reach) - Math.min(...reach)) * 0.15 || Math.abs(mean) * 0.1 || 1;
			new Chart(box, {name: `repeats ${path} ${named(run, text(figure, "item"))}`, above,
				title: question(words(path), text(figure, "item") || undefined, run),
				note: known(mean) ? `mean ${format(mean)}, ${percent(number(run.doc, "confidence.confidence"))} confidence: ${format(low)} to ${format(high)}`
					: "no mean: the percentile falls among lost transactions",
				x: {label: "run", name: "run", format: v => Number.isInteger(v) ? String(v) : "", range: [0.5, all.length + 0.5]},
				y: {label: path.endsWith("_ns") ? "time" : path.endsWith(".used") ? "share of the CPUs" : "per second", format: v => v === Infinity ? LOST : format(v), from: values.includes(Infinity) ? 0 : Math.max(0, Math.min(...reach) - pad)},
				lines: [{run, xs: () => count, name: named(run, "run"), values: () => values, colour: path.endsWith("_ns") ? "p99" : "answered", bare: true, points: true}],
				draw: u => {
					const {ctx, bbox} = u, [top, bottom] = [high, low].map(v => u.valToPos(v, "y", true));
					if (known(low) && known(high)) {
						ctx.fillStyle = colourOf("shade");
						ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
					}
					markLine(u, mean, `mean ${format(mean)}`, [6, 4]);
					values.includes(Infinity) && markLine(u, above, "lost", [2, 3]);
				}});
		}
		if (box.childElementCount)
			node.append(box);
	}
}

// --- trend ----------------------------------------------------------------------------------------------

let past = {runs: [], figures: []};
let openRun = null; // shows another run of the trend, by its id; null: the page is of one file

const sureOf = v => v >= 0.9999 ? "> 99.99 %" : `${(100 * v).toFixed(2)} %`;

// Draws the verdict of each run, the bound of the last run, and changes of the configuration.
function markTrend(u, runs, figure, format, above) {
	const {ctx, bbox} = u, ratio = devicePixelRatio, values = figure.values.map(v => v === LOST ? above : v);
	ctx.save();
	ctx.fillStyle = colourOf("soft");
	runs.forEach((run, i) => {
		if (!run.changed)
			return;
		const x = u.valToPos(i + 0.5, "x", true);
		for (let y = bbox.top; y < bbox.top + bbox.height; y += 6 * ratio)
			ctx.fillRect(x, y, ratio, 3 * ratio);
	});
	ctx.restore();
	figure.judged && !figure.noisy && markLine(u, figure.bound, `bound ${format(figure.bound)}`, [6, 4], figure.bound < figure.mean);
	drawShapes(u, values.map((v, i) => [i + 1, v, runs[i].status]));
}

const asNumber = v => v === LOST ? Infinity : typeof v === "number" ? v : NaN;

function trend(node) {
	const before = list(past.runs), box = el("div", {class: "charts two"}), count = before.map((_, i) => i + 1);
	if (before.length < 2)
		return;
	const worse = list(past.figures).filter(figure => figure.worse), noisy = list(past.figures).filter(figure => figure.noisy);
	node.append(el("p", {}, worse.length ? el("span", {class: "fail"}, "▼ worse") : noisy.length ? `Too noisy to judge (${noisy.map(f => `${f.item} ${words(f.path)}`).join(", ")}): not known to be worse` : past.figures.some(f => f.judged) ? "Not worse" : "Not judged: fewer than three runs to compare with",
		worse.length || past.figures.some(f => f.judged) ? ` than the last ${past.compared} runs of this configuration` : "",
		worse.length ? `: ${worse.map(f => `${f.item} ${words(f.path)} (${sureOf(f.confidence)} confidence)`).join(", ")}` : "",
		". Rings passed, crosses failed, dots were not judged; a dotted line up: another configuration."), box);
	for (const figure of past.figures) {
		const format = CHANGE_FORMATS[figure.unit] || exact, values = figure.values.map(asNumber), finite = values.filter(Number.isFinite);
		if (!finite.length)
			continue;
		const above = 1.3 * Math.max(...finite), reach = [...finite, ...(figure.judged && !figure.noisy ? [figure.bound] : []), ...(values.includes(Infinity) ? [above] : [])];
		// No less than the axis can show with three digits.
		const pad = Math.max((Math.max(...reach) - Math.min(...reach)) * 0.15, Math.max(...reach) * 0.03) || 0.001;
		const colour = {ns: figure.path.includes("p50") ? "p50" : "p99", 1: "loss"}[figure.unit] || "answered";
		new Chart(box, {name: `trend ${figure.item} ${figure.path}`, above, title: `${figure.item}: ${words(figure.path)}`,
			note: figure.judged ? `this run ${format(values[values.length - 1])}; mean of the last ${past.compared} runs ${format(figure.mean)}`
				: `this run ${format(values[values.length - 1])}; not judged`,
			x: {label: "run, the last one is this", name: "run", format: v => Number.isInteger(v) ? String(v) : "", range: [0.5, before.length + 0.5],
				shown: v => `${v}: ${text(before[v - 1], "started").slice(0, 16).replace("T", " ")}`},
			y: {label: words(figure.path), format: v => v === Infinity ? LOST : format(v), range: [Math.max(0, Math.min(...reach) - pad), Math.max(...reach) + pad]},
			lines: [{xs: () => count, name: words(figure.path), values: () => values, colour, width: 1, points: false}],
			pick: openRun && (i => openRun(before[i].id)),
			draw: u => markTrend(u, before, figure, format, above)});
	}
}

// --- comparison ---------------------------------------------------------------------------------------

const CHANGE_FORMATS = {ns: time, per_s: perSecond, 1: percent, "": exact};

const SAME = 0.001; // of the figure: less is no change, even if significant

// The judgement in a word: more answers are better, and less time, loss and failures.
function judgement(change) {
	const {a, b} = change, value = v => v === LOST ? Infinity : v;
	if (value(a) === value(b) || Math.abs(b - a) < SAME * Math.abs(a))
		return ["same", "soft"];
	if (change.noise)
		return ["within noise", "soft"];
	const up = value(b) > value(a), isGood = change.unit === "per_s" || change.unit === "";
	const isBad = change.unit === "ns" || /(^|\.)(loss|lost|failed)$/.test(change.path);
	if (!isGood && !isBad)
		return ["changed", "soft"];
	return up === isGood ? ["▲ better", "pass"] : ["▼ worse", "fail"];
}

function difference(change) {
	const {a, b} = change;
	if (typeof a !== "number" || typeof b !== "number")
		return "–";
	if (change.unit === "1")
		return `${signed(100 * (b - a))} pt`;
	return a === 0 ? (b === 0 ? "0 %" : "new") : Math.abs(b - a) < SAME * Math.abs(a) ? "< 0.1 %" : b / a >= 10 ? `${si(b / a)} times` : `${signed(100 * (b - a) / Math.abs(a))} %`;
}

function sure(change) {
	const scale = change.unit === "1" ? 100 : change.a ? 100 / change.a : NaN;
	if (typeof change.half === "number" && known(scale))
		return `± ${digits3(Math.abs(change.half * scale))} ${change.unit === "1" ? "pt" : "%"}`;
	return typeof change.a === "number" && typeof change.b === "number" ? "single runs: unknown" : "–";
}

function comparison(node) {
	for (const run of runs.slice(1)) {
		const shown = v => v === LOST ? Infinity : v === null ? NaN : v;
		const rows = run.changes.map(change => {
			const [word, kind] = judgement(change), format = CHANGE_FORMATS[change.unit] || exact;
			return [el("span", {class: kind}, word), `${change.item}: ${change.path}`, format(shown(change.a)), format(shown(change.b)), difference(change), sure(change)];
		});
		node.append(el("h3", {}, `From A to ${run.letter}`));
		node.append(rows.length ? table([["", "text"], ["figure", "text expression"], ["A"], [run.letter], [`${run.letter} − A`], ["confidence"]], rows, "changes", true)
			: el("p", {}, "The two have no item in common."));
	}
	if (several())
		node.append(el("p", {class: "soft"}, "Charts show A solid, B dashed. Counters are shares of the requests sent; pt: percentage points."));
}

// --- box and configuration ------------------------------------------------------------------------------

function yaml(value, indent) {
	const pad = "  ".repeat(indent);
	if (Array.isArray(value))
		return value.length === 0 ? " []\n" : value.every(v => typeof v !== "object") ? ` [${value.map(scalar).join(", ")}]\n`
			: "\n" + value.map(v => `${pad}-${yaml(v, indent + 1).replace(/^\n\s*/, " ")}`).join("");
	if (value && typeof value === "object")
		return Object.keys(value).length === 0 ? " {}\n" : "\n" + Object.entries(value).map(([k, v]) => `${pad}${k}:${yaml(v, indent + 1)}`).join("");
	return ` ${scalar(value)}\n`;
}

const scalar = value => typeof value === "string" && !/^[A-Za-z][\w./-]*$|^\d+(\.\d+)?(ns|us|ms|s|m|h|%|k|M|G|KiB|MiB|GiB)$/.test(value)
	|| /^(y|n|yes|no|on|off|true|false|null)$/i.test(value) && typeof value === "string" ? JSON.stringify(value) : String(value);

function box(node) {
	for (const run of runs) {
		const host = at(run.doc, "run.host") || {}, rows = Object.entries(host).filter(([, v]) => typeof v !== "object")
			.map(([k, v]) => [k, k === "tsc_hz" ? si(v) + "Hz" : String(v)]);
		const config = at(run.doc, "config"), written = config ? yaml(config, 0).trimStart() : "";
		const button = el("button", {type: "button", click: event => {
			navigator.clipboard ? navigator.clipboard.writeText(written).then(() => event.target.textContent = "Copied") : select(event);
		}}, "Copy");
		const select = event => getSelection().selectAllChildren(event.target.closest("details").querySelector("pre"));
		node.append(el("h3", {}, tag(run), text(run.doc, "run.name")), facts([["program", `ddiperf ${text(run.doc, "run.version")}`],
			["id", text(run.doc, "run.id")], ["seed", known(number(run.doc, "run.seed")) ? String(number(run.doc, "run.seed")) : ""], ...rows,
			...list(at(run.doc, "ports")).map(port => [`port ${text(port, "name")}`, `${text(port, "driver")} ${text(port, "device")}`])]));
		if (text(run.doc, "run.command"))
			node.append(el("pre", {class: "wrap", "data-text": "command"}, text(run.doc, "run.command")));
		if (written)
			node.append(el("details", {}, el("summary", {}, "Effective configuration"), el("p", {}, button),
				el("pre", {"data-text": "config"}, written)));
	}
}

// --- the page -----------------------------------------------------------------------------------------

// --- campaign -------------------------------------------------------------------------------------------

let campaign = null;

// A line for each operation over all points, or for each point over a varied numeric setting (over).
function campaignLines(rows, column, over) {
	const groups = new Map();
	rows.forEach((row, i) => {
		const name = over < 0 ? "" : [text(row, "point"), ...row.values.filter((_, k) => k !== over)].join(", ");
		groups.set(name, [...(groups.get(name) || []), [over < 0 ? i + 1 : Number(row.values[over].replace(/k$/, "000").replace(/M$/, "000000")), row]]);
	});
	return [...groups].flatMap(([group, members]) => campaign.operations.map((operation, k) => {
		const sorted = [...members].sort((a, b) => a[0] - b[0]), xs = sorted.map(one => one[0]);
		return {name: [group, campaign.operations.length > 1 ? operation : ""].filter(Boolean).join(", ") || campaign.columns[column],
			xs: () => xs, cells: sorted.map(one => one[1].figures[column][k])};
	})).map((line, i) => ({...line, colour: `s${i % 7 + 1}`, values: () => line.cells.map(cell => number(cell, "mean")), bare: over < 0, points: true, gaps: true}));
}

// Draws the interval of each mean.
function markIntervals(u, lines) {
	u.ctx.save();
	u.ctx.beginPath();
	u.ctx.rect(u.bbox.left - 4, u.bbox.top, u.bbox.width + 8, u.bbox.height);
	u.ctx.clip();
	for (const line of lines)
		line.cells.forEach((cell, i) => {
			if (!known(cell.low))
				return;
			const x = u.valToPos(line.xs()[i], "x", true), bottom = cell.low > 0 || u.scales.y.distr !== 3 ? u.valToPos(cell.low, "y", true) : u.bbox.top + u.bbox.height;
			u.ctx.strokeStyle = colourOf(line.colour);
			u.ctx.strokeRect(x, u.valToPos(cell.high, "y", true), 0, bottom - u.valToPos(cell.high, "y", true));
		});
	u.ctx.restore();
}

function campaignCharts(node) {
	const rows = list(campaign.rows);
	const over = campaign.operations.length > 1 ? -1 : campaign.vary.findIndex((_, k) => new Set(rows.map(row => row.values[k])).size > 2 && rows.every(row => /^\d+(\.\d+)?[kM]?$/.test(row.values[k])));
	const names = rows.map(row => [text(row, "point"), ...row.values].join(", "));
	campaign.columns.forEach((title, column) => {
		const lines = campaignLines(rows, column, over), means = lines.flatMap(line => line.values()).filter(v => v > 0);
		if (!means.length)
			return;
		const box = el("div", {class: "charts"}), log = Math.max(...means) > 20 * Math.min(...means), format = /, (ms|%)$/.test(title) ? v => digits3(v) : si;
		node.append(box);
		new Chart(box, {name: `campaign ${title}`, title, note: `${campaign.note}; upright lines: the interval of the mean`, height: 340,
			x: over < 0 ? {label: "", name: "point", range: [0.5, rows.length + 0.5], splits: () => rows.map((_, i) => i + 1),
				format: v => String(v), shown: v => names[v - 1] || ""} : {label: campaign.vary[over], name: campaign.vary[over], format: si},
			y: {label: title, format, log}, lines, draw: u => markIntervals(u, lines)});
		over < 0 && box.append(el("ol", {class: "soft"}, names.map(name => el("li", {}, name))));
	});
}

// The verdict so far, and the run in progress.
function campaignHead() {
	const {running, done, of, notes} = campaign, names = running ? Object.entries(running.settings).map(([name, value]) => `${name} ${value}`) : [];
	const now = running ? `; running: ${[running.point, ...names, `repeat ${running.repeat}`, ...(running.attempt > 1 ? [`attempt ${running.attempt}`] : [])].join(", ")}: ${running.operation || "start of the server"}` : "";
	return [el("div", {class: "verdict"}, text(campaign, "verdict") ? badge(text(campaign, "verdict")) : "", el("p", {"data-text": "progress"}, `${running ? "so far: " : ""}${done} of ${of} repeats have values${now}`)),
		list(notes).length ? el("ul", {"data-text": "notes"}, notes.map(note => el("li", {}, note))) : ""];
}

function campaignTables(node) {
	campaign.columns.forEach((title, column) => node.append(el("h3", {}, title),
		table([["point", "text"], ...campaign.vary.map(name => [name, "text"]), ...campaign.operations.map(name => [name])],
			list(campaign.rows).map((row, i) => [`${text(row, "point")}${i === at(campaign, "running.cell") ? " (running)" : ""}`, ...row.values, ...row.figures[column].map(cell => cell.text)]), `campaign ${title}`)));
}

// [id, title, heading if it differs, maker]
const SECTIONS = [["criteria", "Criteria", "", criteria],
	["load", "Load", "Did the load go out and come back?", load],
	["latency", "Response time", "How long did an answer take?", latency],
	["heat", "Map", "When were answers slow?", heat],
	["answers", "Answers", "What was answered?", answers],
	["ledger", "Ledger", "Where did every request go?", ledger],
	["limit", "Limit", "What was the limit?", limit],
	["search", "Search", "Which load meets the goal?", search],
	["repeats", "Repeats", "Are the runs alike?", repeats],
	["trend", "Trend", "Is it worse than before?", trend],
	["comparison", "Comparison", "What changed?", comparison],
	["box", "Box and configuration", "", box]];
const OF_CAMPAIGN = [["campaign", "Chart", "", campaignCharts], ["table", "Table", "", campaignTables]];

// of: the wanted sections in their order; undefined: all, and the head.
function build(page, of) {
	if (campaign)
		page.append(el("h1", {}, campaign.name), ...campaignHead());
	else if (!of)
		head(page);
	for (const [id, title, heading, make] of campaign ? OF_CAMPAIGN : of ? of.map(id => SECTIONS.find(one => one[0] === id)) : SECTIONS)
		section(id, title, heading || title, make);
	page.append(el("nav", {"aria-label": "sections"}, sections.map(one =>
		el("a", {href: `#${one.id}`, click: event => {
			event.preventDefault();
			place = one.id;
			writePlace();
			goTo(place);
		}}, one.title))), ...sections.map(one => one.node), el("footer", {}, (campaign ? "" : "Drag over a chart to zoom, double-click to see all again. ")
		+ "A click on an entry of a legend hides its line. Times and rates have three significant digits, tables are exact."));
}

function draw() {
	for (const chart of charts)
		chart.draw();
	document.documentElement.dataset.drawn = charts.length;
	performance.mark("drawn");
}

function redraw() {
	for (const chart of charts)
		chart.clear();
	draw();
}

// Replaces the page of earlier data.
function fill(page, data, of) {
	charts.forEach(chart => chart.clear());
	charts = [];
	sections = [];
	page.replaceChildren();
	runs = list(data.results).map((result, i) => result instanceof Run ? result : new Run(result, i));
	past = data.trend || {runs: [], figures: []};
	campaign = data.campaign || null;
	build(page, of);
}

function start(page, data, of, open) {
	readPlace();
	openRun = open || null;
	fill(page, data, of);
	document.title = (campaign ? campaign.name : runs.map(titleOf).join(" and ")) + " – ddiperf";
	// The text appears before the charts.
	requestAnimationFrame(() => setTimeout(() => {
		draw();
		goTo(place);
	}));
	listen(page);
}

let heard = false;

function listen(page) {
	if (heard)
		return;
	heard = true;
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
	matchMedia("print").addEventListener("change", redraw);
	let width = page.clientWidth;
	new ResizeObserver(() => {
		if (page.clientWidth === width)
			return;
		width = page.clientWidth;
		charts.forEach(chart => chart.resize());
	}).observe(page);
	addEventListener("hashchange", () => {
		readPlace();
		charts.forEach(chart => chart.timed && chart.zoom());
		goTo(place);
	});
}

function goTo(id) {
	const found = sections.find(one => one.id === id);
	found && found.node.scrollIntoView();
}

const given = document.getElementById("data");
given && start(document.getElementById("page"), JSON.parse(given.textContent));
return {add: (interval, run = 0) => runs[run].add(interval), draw, start, fill, listen, Run, big, criteria, badge, el, table, text, words, number, list, at, si, perSecond, percent, time, exact, seconds, get charts() { return charts; },
	get runs() { return runs; }};
})();
