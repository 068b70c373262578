"use strict";
(async () => {
	const $ = (id) => document.getElementById(id);
	const bytes = Uint8Array.from(atob($("program").textContent.trim()), (c) => c.charCodeAt(0));
	const program = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
	const go = new Go();
	const { instance } = await WebAssembly.instantiate(program, go.importObject);
	go.run(instance);
	$("state").textContent = "";
	$("check").disabled = false;
	const read = async (id) => {
		const file = $(id).files[0];
		return file ? new Uint8Array(await file.arrayBuffer()) : null;
	};
	$("form").addEventListener("change", () => { $("result").hidden = true; });
	$("form").addEventListener("submit", async (event) => {
		event.preventDefault();
		$("check").disabled = true;
		$("state").textContent = "Checking…";
		await new Promise((shown) => setTimeout(shown, 20));
		let report;
		try {
			report = JSON.parse(tenetCheck(await read("policy"), await read("file"), await read("record")));
		} catch (error) {
			report = { proven: false, summary: "The files could not be checked: " + error, rows: [] };
		}
		$("result").className = report.proven ? "good" : "bad";
		$("verdict").textContent = report.proven ? "✓ Proven" : "✗ Not proven";
		$("summary").textContent = report.summary;
		$("rows").replaceChildren(...(report.rows || []).flatMap((row) => {
			const name = document.createElement("dt");
			const text = document.createElement("dd");
			name.textContent = row.name;
			text.textContent = row.text;
			if (row.caution) text.className = "caution";
			return [name, text];
		}));
		$("result").hidden = false;
		$("state").textContent = "";
		$("check").disabled = false;
	});
})().catch((error) => { document.getElementById("state").textContent = "This browser cannot run the check: " + error; });
