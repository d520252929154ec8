import Support
import Synchronization
import Testing

@testable import KFNetwork

@Suite("A gate")
struct GateTests {
    /// Says what it is told to, in order, and then lets everything pass.
    private final class Gate: TransferGate {
        private let answers: Mutex<[TransferAdmission]>
        private let admission: Bool
        let events = Mutex<[String]>([])

        init(_ answers: [TransferAdmission] = [], admits admission: Bool = true) {
            self.answers = Mutex(answers)
            self.admission = admission
        }

        func enter() -> TransferAdmission {
            events.withLock { $0.append("enter") }
            return answers.withLock { $0.isEmpty ? .open : $0.removeFirst() }
        }

        func admits() async -> Bool {
            events.withLock { $0.append("asked") }
            return admission
        }

        func leave() { events.withLock { $0.append("leave") } }

        var seen: [String] { events.withLock { $0 } }
    }

    @Test func isAskedWhenTheTransferStarts() async throws {
        let server = try FaultServer { $0.path == "/first" ? [.pause(.seconds(30)), .reply()] : [.reply()] }
        var configuration = EngineConfiguration()
        configuration.maxPerHost = 1
        let engine = TransferEngine(configuration: configuration)
        defer { engine.shutdown() }
        let first = Task { await fetch(server.url("/first"), engine: engine).error }
        while server.requests.isEmpty { await Task.yield() }
        let gate = Gate()
        let control = TransferControl()
        let second = Task {
            await fetch(server.url("/second"), engine: engine) {
                $0.gate = gate
                $0.control = control
            }.body
        }
        while !control.isAttached { await Task.yield() }
        #expect(gate.seen == [])
        first.cancel()
        #expect(await second.value == "hello")
        #expect(gate.seen == ["enter"])
    }

    @Test func thatIsClosedEndsTheTransferAndCostsNoTurn() async throws {
        let server = try FaultServer { _ in [.reply()] }
        var configuration = EngineConfiguration()
        configuration.ratePerHost = 0.01
        let engine = TransferEngine(configuration: configuration)
        defer { engine.shutdown() }
        let gate = Gate([.closed, .closed, .closed])
        for _ in 0..<3 {
            let fetched = await fetch(server.url("/"), engine: engine) { $0.gate = gate }
            #expect(fetched.error == .notAdmitted)
        }
        #expect(server.requests.isEmpty)
        #expect(await fetch(server.url("/"), engine: engine) { $0.gate = gate }.body == "hello")
    }

    @Test(arguments: [true, false])
    func mayTakeItsTime(_ admits: Bool) async throws {
        let server = try FaultServer { _ in [.reply()] }
        let gate = Gate([.undecided], admits: admits)
        let fetched = await fetch(server.url("/")) { $0.gate = gate }
        #expect(gate.seen == ["enter", "asked"])
        #expect(fetched.error == (admits ? nil : .notAdmitted))
        #expect(server.requests.count == (admits ? 1 : 0))
    }

    @Test func givesItsPlaceBackWhereItsTransferIsNotWanted() async throws {
        let server = try FaultServer { _ in [.reply()] }
        var configuration = EngineConfiguration()
        configuration.maxConnections = 1
        let engine = TransferEngine(configuration: configuration)
        defer { engine.shutdown() }
        for _ in 0..<3 {
            let gate = Gate([.undecided], admits: false)
            #expect(await fetch(server.url("/"), engine: engine) { $0.gate = gate }.error == .notAdmitted)
        }
        #expect(await fetch(server.url("/"), engine: engine).body == "hello")
    }

    @Test func isLeftWhileTheNextHopWaitsAndNotWhenItStartsAtOnce() async throws {
        let server = try FaultServer { request in
            request.path == "/from" ? [.reply("302 Found", headers: ["Location: /to"], body: [])] : [.reply()]
        }
        let warm = TransferEngine()
        defer { warm.shutdown() }
        // A host rests for a moment after its first response.
        #expect(await fetch(server.url("/to"), engine: warm).body == "hello")
        let quick = Gate()
        #expect(await fetch(server.url("/from"), engine: warm) { $0.gate = quick }.body == "hello")
        #expect(quick.seen == ["enter", "enter"])
        var configuration = EngineConfiguration()
        configuration.ratePerHost = 5
        let engine = TransferEngine(configuration: configuration)
        defer { engine.shutdown() }
        let slow = Gate()
        #expect(await fetch(server.url("/from"), engine: engine) { $0.gate = slow }.body == "hello")
        #expect(slow.seen == ["enter", "leave", "enter"])
    }
}
