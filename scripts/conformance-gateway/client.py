"""A client of the official Python SDK: client.py URL, or client.py COMMAND..."""
import asyncio
import sys

from mcp import Client, StdioServerParameters


def text(result):
    return "".join(c.text for c in result.content if c.type == "text")


def expect(what, ok):
    if not ok:
        sys.exit(f"python client: {what}")


async def main():
    to = sys.argv[1] if sys.argv[1].startswith("http") else StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with Client(to) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        expect(f"tools are {names}", {"echo", "work", "fail", "forbidden"} <= names)
        got = text(await client.call_tool("echo", {"text": "hi", "n": 1}))
        expect(f"echo says {got}", got == "hi 1")
        denied = await client.call_tool("forbidden", {})
        expect(f"a denied call says {text(denied)}", denied.is_error and "T-1" in text(denied) and "REACHED" not in text(denied))
        failed = await client.call_tool("fail", {})
        expect(f"a tool that fails says {text(failed)}", failed.is_error and "Tenet" not in text(failed)) # the SDK leaves the reason out
        seen = []

        async def progress(done, total, message):
            seen.append(done)

        await client.call_tool("work", {"n": 20}, progress_callback=progress)
        for _ in range(100):
            if len(seen) == 20:
                break
            await asyncio.sleep(0.05)
        expect(f"progress is {seen}", seen == [float(i + 1) for i in range(20)])
        resource = await client.read_resource("note://open")
        expect("a resource", resource.contents[0].text == "content")
        limit = asyncio.Semaphore(50)

        async def one(i):
            async with limit:
                return text(await client.call_tool("echo", {"text": "call", "n": i})) == f"call {i}"

        right = await asyncio.gather(*(one(i) for i in range(1000)))
        expect(f"{right.count(False)} of 1,000 calls have a wrong answer", all(right))
    print("python client passes")


asyncio.run(main())
