import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFRemote

@Suite("The state of remote requests", .bounded)
struct RemoteTests {
    /// Notes the ends of requests.
    private final class Receiver: RemoteWaiter {
        private let state = Mutex<(answers: [String: [CacheLayerAnswer]], bytes: [UInt8])>(([:], []))

        func answers(_ request: CacheLayerRequest) -> [CacheLayerAnswer] {
            state.withLock { $0.answers[request.name] ?? [] }
        }
        var bytes: [UInt8] { state.withLock { $0.bytes } }

        func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool {
            state.withLock { $0.bytes.append(contentsOf: bytes) }
            return true
        }
        func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) {
            state.withLock { $0.answers[request.name, default: []].append(answer) }
        }
    }

    private let layer = MemoryLayer()
    private let receiver = Receiver()
    private let changes = SharedValue<[RemoteHealth.Change]>([])

    private func remote(silence: Duration = .seconds(3600)) -> Remote {
        let changes = changes
        return Remote(layer, silence: silence) { change in changes.change { $0.append(change) } }
    }

    private func request(_ name: String, of remote: Remote, limit: Int64 = 100) -> CacheLayerRequest {
        CacheLayerRequest(
            .read, .entry, name + String(repeating: "0", count: 64 - name.count), limit: limit, of: remote,
            for: receiver)
    }

    @Test("Only the first end of a request counts")
    func once() {
        let remote = remote()
        layer.hold()
        let asked = request("a", of: remote)
        remote.start([asked])
        asked.end(.absent)
        asked.end(.failed("late"))
        CacheLayerRequest.end([(asked, .done), (asked, .refused("later"))])
        #expect(receiver.answers(asked) == [.absent])
        #expect(!remote.isDown && changes.value.isEmpty)
    }

    @Test("An end before the start is ignored")
    func unstarted() {
        let remote = remote()
        let asked = request("a", of: remote)
        asked.end(.refused("x"))
        #expect(receiver.answers(asked).isEmpty && !remote.isDown)
    }

    @Test("A silent layer fails all its requests at once")
    func silence() async {
        let remote = remote(silence: .milliseconds(30))
        layer.hold()
        let asked = (0..<5).map { request("\($0)", of: remote) }
        remote.start(Array(asked[..<3]))
        remote.start(Array(asked[3...]))
        #expect(await eventually { layer.cancelled.count == 5 })
        #expect(await eventually { asked.allSatisfy { receiver.answers($0) == [.failed("it does not answer")] } })
        #expect(changes.value == [.rests("it does not answer")])
        #expect(remote.isDown && remote.uploadGate != .open && remote.admitLookUp() == .skip)
        // Late answers change nothing.
        for asked in asked { asked.end(.done) }
        #expect(asked.allSatisfy { receiver.answers($0).count == 1 })
        #expect(remote.isDown && changes.value.count == 1)
    }

    @Test("Activity keeps a slow layer alive")
    func activity() async {
        let remote = remote(silence: .milliseconds(500))
        layer.hold()
        let slow = request("a", of: remote)
        remote.start([slow])
        let end = ContinuousClock.now + .milliseconds(1200)
        var longest = Duration.zero
        var last = ContinuousClock.now
        while ContinuousClock.now < end {
            await others(run: .milliseconds(5))
            longest = max(longest, last.duration(to: .now))
            last = .now
            slow.noteActivity()
        }
        // On a machine that held this task up for so long, the layer was silent.
        if longest < .milliseconds(400) { #expect(changes.value.isEmpty && layer.cancelled.isEmpty) }
        #expect(await eventually { !changes.value.isEmpty })
        #expect(await eventually { receiver.answers(slow) == [.failed("it does not answer")] })
    }

    @Test("An idle layer is not watched")
    func idle() async {
        let remote = remote(silence: .milliseconds(20))
        remote.start([request("a", of: remote)])
        await others(run: .milliseconds(100))
        #expect(changes.value.isEmpty)
        layer.hold()
        remote.start([request("b", of: remote)])
        #expect(await eventually { changes.value == [.rests("it does not answer")] })
    }

    @Test("Three failures end the requests in flight")
    func abandoned() async {
        let remote = remote()
        layer.hold()
        let asked = (0..<6).map { request("\($0)", of: remote) }
        remote.start(asked)
        for asked in asked[..<3] { asked.end(.failed("status 500")) }
        #expect(await eventually { layer.cancelled.count == 3 })
        #expect(await eventually { asked[3...].allSatisfy { receiver.answers($0) == [.failed("it does not answer")] } })
        #expect(asked[..<3].allSatisfy { receiver.answers($0) == [.failed("status 500 at memory/\($0.path)")] })
        #expect(changes.value == [.rests("status 500 at memory/\(asked[2].path)")])
    }

    @Test("A refused read ends the requests in flight")
    func refused() async {
        let remote = remote()
        layer.hold()
        let asked = (0..<3).map { request("\($0)", of: remote) }
        let upload = CacheLayerRequest(
            .write(.bytes([1]), replaces: true), .entry, String(repeating: "f", count: 64), of: remote, for: receiver)
        remote.start(asked + [upload])
        upload.end(.refused("status 405"))
        #expect(layer.cancelled.isEmpty && !remote.isDown && !remote.isWritable)
        asked[0].end(.refused("status 401"))
        #expect(await eventually { layer.cancelled.count == 2 && receiver.answers(asked[2]).count == 1 })
        #expect(
            changes.value == [
                .refusesWriting("status 405 at memory/\(upload.path)"),
                .refusesReading("status 401 at memory/\(asked[0].path)"),
            ])
    }

    @Test("Bytes beyond the limit are refused")
    func limit() {
        let remote = remote()
        layer.hold()
        let asked = request("a", of: remote, limit: 5)
        remote.start([asked])
        #expect(asked.receive([1, 2, 3]) && asked.receive([4, 5]))
        #expect(!asked.isTooLong && receiver.bytes == [1, 2, 3, 4, 5])
        #expect(!asked.receive([6]))
        #expect(asked.isTooLong && receiver.bytes.count == 5)
    }
}
