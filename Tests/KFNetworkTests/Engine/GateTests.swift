import Support
import Testing

@testable import KFNetwork

@Suite("Gates of transfers", .bounded, .engines)
struct GateTests {
    @Test("A gate is asked when its transfer starts") func start() async throws {
        let server = try FaultServer { $0.path == "/first" ? [.pause(.seconds(30)), .reply()] : [.reply()] }
        let engine = Engines.make { $0.maxPerHost = 1 }
        let first = Task { await fetch(server.url("/first"), engine: engine).error }
        #expect(await eventually { !server.requests.isEmpty })
        let gate = ScriptedGate()
        let receiver = CollectingReceiver()
        // The loop has looked at the queue when the second one has failed.
        engine.start([receiver.start("waiting", server.url("/second")) { $0.gate = gate }])
        engine.start([receiver.start("failing", "ftp://host/")])
        _ = await receiver.ends(1)
        #expect(gate.seen == [])
        first.cancel()
        #expect(await receiver.ends(2)["waiting"] == .some(nil))
        #expect(gate.seen == ["enter"])
    }

    @Test("A closed gate ends the transfer without a turn") func closed() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make { $0.ratePerHost = 0.01 }
        let gate = ScriptedGate([.ended, .ended, .ended])
        for _ in 0..<3 {
            let fetched = await fetch(server.url("/"), engine: engine) { $0.gate = gate }
            #expect(fetched.error == .notAdmitted)
        }
        #expect(server.requests.isEmpty)
        #expect(await fetch(server.url("/"), engine: engine) { $0.gate = gate }.body == "hello")
    }

    @Test("A gate can decide asynchronously", arguments: [true, false])
    func asynchronous(_ admits: Bool) async throws {
        let server = try FaultServer { _ in [.reply()] }
        let gate = ScriptedGate([.undecided], admits: admits)
        let fetched = await fetch(server.url("/")) { $0.gate = gate }
        #expect(gate.seen == ["enter", "asked"])
        #expect(fetched.error == (admits ? nil : .notAdmitted))
        #expect(server.requests.count == (admits ? 1 : 0))
    }

    @Test("A refused transfer gives its place back") func unwanted() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make { $0.maxConnections = 1 }
        for _ in 0..<3 {
            let gate = ScriptedGate([.undecided], admits: false)
            #expect(await fetch(server.url("/"), engine: engine) { $0.gate = gate }.error == .notAdmitted)
        }
        #expect(await fetch(server.url("/"), engine: engine).body == "hello")
    }

    @Test("A gate is entered for each hop") func hops() async throws {
        let server = try FaultServer { request in
            request.path == "/from" ? [.reply("302 Found", headers: ["Location: /to"], body: [])] : [.reply()]
        }
        let gate = ScriptedGate()
        #expect(await fetch(server.url("/from")) { $0.gate = gate }.body == "hello")
        #expect(gate.seen == ["enter", "enter"])
    }

    @Test("A postponed transfer asks its gate again") func later() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make { $0.ratePerHost = 0.01 }
        let gate = ScriptedGate([.later(.milliseconds(50)), .later(.milliseconds(50))])
        let start = ContinuousClock.now
        #expect(await fetch(server.url("/"), engine: engine) { $0.gate = gate }.body == "hello")
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        #expect(gate.seen == ["enter", "enter", "enter"])
    }

    @Test("A postponed transfer gives its place to another") func another() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make { $0.maxConnections = 1 }
        let receiver = CollectingReceiver()
        let gate = ScriptedGate([.later(.zero)], repeats: true)
        let resting = receiver.start("resting", server.url("/")) { $0.gate = gate }
        engine.start([resting, receiver.start("other", server.url("/"))])
        #expect(await receiver.ends(1) == ["other": nil])
        #expect(await eventually { gate.seen.count >= 3 })
        engine.cancel(resting.id)
        #expect(await receiver.ends(2)["resting"] == .cancelled)
        #expect(server.requests.count == 1)
    }

    @Test("A postponed transfer uses no time of its limit") func time() async throws {
        let server = try FaultServer { request in
            request.path == "/from" ? [.reply("302 Found", headers: ["Location: /to"], body: [])] : [.reply()]
        }
        let gate = ScriptedGate([.open, .later(.milliseconds(1200))])
        let fetched = await fetch(server.url("/from")) {
            $0.gate = gate
            $0.options.maxTime = .seconds(1)
        }
        #expect(fetched.body == "hello")
        #expect(gate.seen.filter { $0 == "enter" }.count == 3)
    }

    @Test("A postponed transfer ends when the engine drains") func drained() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make()
        let receiver = CollectingReceiver()
        let gate = ScriptedGate([.later(.seconds(60))])
        engine.start([receiver.start("resting", server.url("/")) { $0.gate = gate }])
        #expect(await eventually { !gate.seen.isEmpty })
        engine.drain()
        #expect(await receiver.ends(1) == ["resting": .cancelled])
    }

    @Test("Six hundred gates can refuse in one turn") func many() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make()
        let receiver = CollectingReceiver()
        let gate = ScriptedGate([.ended], repeats: true)
        engine.start((0..<600).map { receiver.start("\($0)", server.url("/\($0)")) { $0.gate = gate } })
        #expect(await receiver.ends(600).values.allSatisfy { $0 == .notAdmitted })
        #expect(server.requests.isEmpty)
    }

    @Test("The gates of one turn are decided together") func together() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make()
        let receiver = CollectingReceiver { _ in [true, false] }
        engine.start(
            ["a", "b"].map { name in
                receiver.start(name, server.url("/\(name)")) { $0.gate = ScriptedGate([.undecided]) }
            })
        #expect(await receiver.ends(2) == ["a": nil, "b": .notAdmitted])
        #expect(receiver.asked == [2])
        #expect(server.requests.map(\.path) == ["/a"])
    }

    @Test("An undecided gate ends with the timeout") func undecided() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make()
        let receiver = CollectingReceiver { _ in nil }
        engine.start([
            receiver.start("a", server.url("/")) {
                $0.gate = ScriptedGate([.undecided])
                $0.options.timeout = .milliseconds(50)
            }
        ])
        #expect(await receiver.ends(1) == ["a": .undecided(after: .milliseconds(50))])
    }
}
