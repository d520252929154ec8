import Glibc
import Synchronization

/// Takes a body and forgets it.
final class ForgettingSink: TransferSink {
    func begin(_ head: ResponseHead) {}

    func receive(_ bytes: UnsafeRawBufferPointer) {}
}

/// Waits for the end of one transfer.
final class Caller: TransferReceiver {
    private let ends = AsyncStream.makeStream(of: Result<TransferResponse, TransferError>.self)

    func result(of request: TransferRequest, _ engine: TransferEngine) async -> Result<TransferResponse, TransferError>
    {
        engine.start([TransferStart(request, sink: ForgettingSink(), receiver: self, token: self)])
        var all = ends.stream.makeAsyncIterator()
        return await all.next() ?? .failure(.cancelled)
    }

    func ended(_ transfers: [EndedTransfer]) {
        for transfer in transfers { ends.continuation.yield(transfer.result) }
    }

    func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void) {}
}

/// What all callers share.
final class Outcomes: Sendable {
    let next = Atomic<Int>(0)
    let finished = Atomic<Int>(0)
    let counts = Mutex<[String: Int]>([:])
}

/// Makes transfers that fail in every way, through one engine, and prints what the process holds as it goes on.
///
/// usage: growth COUNT URL...
@main
struct Growth {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3, let count = Int(arguments[1]), count >= 100 else {
            print("usage: growth COUNT URL...")
            exit(2)
        }
        let urls = Array(arguments[2...])
        var configuration = EngineConfiguration()
        configuration.maxPerHost = 16
        let engine = TransferEngine(configuration: configuration)
        let outcomes = Outcomes()
        let marks = Set([count / 10, count / 2, count])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    while true {
                        let index = outcomes.next.wrappingAdd(1, ordering: .relaxed).oldValue
                        guard index < count else { return }
                        let word = await outcome(of: urls[index % urls.count], engine)
                        outcomes.counts.withLock { $0[word, default: 0] += 1 }
                        let finished = outcomes.finished.wrappingAdd(1, ordering: .relaxed).newValue
                        if marks.contains(finished) { report(finished) }
                    }
                }
            }
        }
        engine.shutdown()
        for (word, number) in outcomes.counts.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            print("outcome \(word) \(number)")
        }
    }

    private static func outcome(of url: String, _ engine: TransferEngine) async -> String {
        var request = TransferRequest(url: url)
        request.options.timeout = .milliseconds(url.hasSuffix("/hold") ? 50 : 10_000)
        request.options.proxy = ""
        switch await Caller().result(of: request, engine) {
        case .success: return "success"
        // The case without what it carries.
        case .failure(let error): return String(describing: error).split(separator: "(").first.map(String.init) ?? "?"
        }
    }

    private static func report(_ finished: Int) {
        print(
            "at \(finished) descriptors \(entries("/proc/self/fd")) threads \(entries("/proc/self/task"))",
            terminator: "")
        print(" resident \(residentKiB()) KiB")
        fflush(nil)
    }

    private static func entries(_ path: String) -> Int {
        guard let folder = opendir(path) else { return -1 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // The two dots; the folder itself, which is open just now, stays in.
        return count - 2
    }

    private static func residentKiB() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return -1 }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        guard fgets(&buffer, Int32(buffer.count), file) != nil else { return -1 }
        let words = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
            separator: " ")
        return words.count > 1 ? (Int(words[1]) ?? 0) * Int(getpagesize()) / 1024 : -1
    }
}
