import Support
import Testing

@testable import KFNetwork

@Suite("Batches of transfers", .bounded, .engines)
struct BatchTests {
    @Test("Each transfer of a batch ends with its token") func tokens() async throws {
        let server = try FaultServer { $0.path == "/none" ? [.reply("404 Not Found")] : [.reply()] }
        let engine = Engines.make()
        let receiver = CollectingReceiver()
        let sinks = (0..<40).map { _ in CollectingSink() }
        engine.start(
            sinks.indices.map { receiver.start("\($0)", server.url("/\($0)"), sink: sinks[$0]) }
                + [receiver.start("none", server.url("/none"))])
        let ends = await receiver.ends(41)
        #expect(ends.count == 41)
        #expect(ends["0"] == .some(nil))
        #expect((ends["none"] ?? nil)?.name == "httpStatus")
        #expect(sinks.allSatisfy { $0.body == "hello" })
    }

    @Test("Transfers that fail at once are reported together") func atOnce() async throws {
        let engine = Engines.make()
        let (first, second) = (CollectingReceiver(), CollectingReceiver())
        engine.start(
            (0..<5).map { first.start("\($0)", "ftp://host/\($0)") } + [second.start("other", "http://")])
        #expect(await first.ends(5).values.allSatisfy { $0 == .unsupportedScheme("ftp") })
        #expect(await second.ends(1) == ["other": .invalidURL])
        #expect(first.told == [5])
    }

    @Test("A batch after the shutdown ends through its receiver") func shutDown() async throws {
        let engine = Engines.make()
        engine.shutdown()
        let receiver = CollectingReceiver()
        engine.start([receiver.start("a", "http://127.0.0.1/"), receiver.start("b", "http://127.0.0.1/")])
        #expect(await receiver.ends(2) == ["a": .shutDown, "b": .shutDown])
    }

    /// More than may run at once.
    @Test("A shutdown ends running, waiting and resting transfers") func shutdown() async throws {
        let server = try FaultServer { _ in [.hold] }
        let engine = Engines.make()
        let receiver = CollectingReceiver()
        engine.start(
            (0..<20).map { receiver.start("\($0)", server.url("/")) }
                + [receiver.start("resting", server.url("/"), delay: .seconds(60))])
        #expect(await eventually { !server.requests.isEmpty })
        engine.shutdown()
        engine.shutdown()
        #expect(await receiver.ends(21).values.allSatisfy { $0 == .shutDown })
        #expect(await fetch(server.url(), engine: engine).error == .shutDown)
    }

    @Test("A delayed transfer starts after its delay") func delays() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make()
        let receiver = CollectingReceiver()
        let start = ContinuousClock.now
        let gate = ScriptedGate()
        engine.start([
            receiver.start("late", server.url("/late"), delay: .milliseconds(80)) { $0.gate = gate },
            receiver.start("early", server.url("/early")),
        ])
        #expect(await receiver.ends(2) == ["late": nil, "early": nil])
        #expect(ContinuousClock.now - start >= .milliseconds(80))
        #expect(server.requests.map(\.path) == ["/early", "/late"])
        #expect(gate.seen == ["enter"])
    }

    @Test("A resting transfer can be cancelled", arguments: [true, false])
    func resting(_ drains: Bool) async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make()
        let receiver = CollectingReceiver()
        let resting = receiver.start("a", server.url("/"), delay: .seconds(60))
        engine.start([resting])
        if drains { engine.drain() } else { engine.cancel(resting.id) }
        #expect(await receiver.ends(1) == ["a": .cancelled])
        #expect(server.requests.isEmpty)
    }

    @Test("A held engine starts no transfer") func held() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make()
        let receiver = CollectingReceiver()
        let gate = ScriptedGate()
        engine.hold(true)
        engine.start([receiver.start("a", server.url("/")) { $0.gate = gate }])
        // Its end is told after the loop has looked at the queue.
        engine.start([receiver.start("marker", "ftp://host/")])
        _ = await receiver.ends(1)
        #expect(gate.seen == [])
        engine.hold(false)
        #expect(await receiver.ends(2)["a"] == .some(nil))
    }

    @Test("Holding the engine does not stop running transfers") func running() async throws {
        let server = try FaultServer { _ in [.pause(.milliseconds(50)), .reply()] }
        let engine = Engines.make()
        let receiver = CollectingReceiver()
        engine.start([receiver.start("a", server.url("/"))])
        #expect(await eventually { !server.requests.isEmpty })
        engine.hold(true)
        #expect(await receiver.ends(1) == ["a": nil])
    }

    @Test("Waiting transfers start by priority") func priorities() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make { $0.maxConnections = 1 }
        let receiver = CollectingReceiver()
        engine.hold(true)
        let starts = ["a", "b", "c"].map { name in
            receiver.start(name, server.url("/\(name)")) { $0.priority = name == "b" ? 0.6 : 0.5 }
        }
        engine.start(starts)
        engine.prioritize(starts[2].id, 1)
        engine.hold(false)
        _ = await receiver.ends(3)
        #expect(server.requests.map(\.path) == ["/c", "/b", "/a"])
    }
}
