import Foundation
import Glibc
import Synchronization

/// What all callers share.
final class Tally: Sendable {
    let next = Atomic<Int>(0)
    let failed = Atomic<Int>(0)
    let received = Atomic<Int>(0)
}

/// Counts a body and lets it go.
final class CountingSink: TransferSink {
    let bytes: Mutex<Int> = Mutex(0)

    func begin(_ head: ResponseHead) {}

    func receive(_ bytes: UnsafeRawBufferPointer) { self.bytes.withLock { $0 += bytes.count } }
}

/// The transfer engine alone: bodies are counted and thrown away, as `floors/transfer.c` does.
///
/// usage: bench LIST AT-ONCE [CA-FILE]    LIST holds an address a line
@main
struct Bench {
    private static func read(_ path: String) throws -> [String] {
        guard let file = fopen(path, "r") else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { fclose(file) }
        var urls: [String] = []
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        while case let length = getline(&line, &size, file), length > 0 {
            line![length - 1] = 0
            urls.append(String(cString: line!))
        }
        free(line)
        return urls
    }

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3, let parallel = Int(arguments[2]), parallel > 0 else {
            print("usage: bench LIST AT-ONCE [CA-FILE]")
            exit(2)
        }
        let urls = try read(arguments[1])
        var options = TransferOptions()
        options.caFile = arguments.count > 3 ? arguments[3] : nil
        options.maxBytes = .max
        var configuration = EngineConfiguration()
        configuration.maxConnections = parallel
        configuration.maxPerHost = parallel
        let engine = TransferEngine(configuration: configuration)
        let tally = Tally()
        // As many again wait in the engine, so that no place stays empty for want of a caller.
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<min(urls.count, 2 * parallel) {
                group.addTask { [options] in
                    while true {
                        let index = tally.next.wrappingAdd(1, ordering: .relaxed).oldValue
                        guard index < urls.count else { return }
                        let sink = CountingSink()
                        do {
                            _ = try await engine.perform(
                                TransferRequest(url: urls[index], options: options), sink: sink)
                        } catch {
                            tally.failed.wrappingAdd(1, ordering: .relaxed)
                        }
                        tally.received.wrappingAdd(sink.bytes.withLock { $0 }, ordering: .relaxed)
                    }
                }
            }
        }
        engine.shutdown()
        let failures = tally.failed.load(ordering: .relaxed)
        print("\(urls.count) transfers, \(failures) failed, \(tally.received.load(ordering: .relaxed)) bytes")
        exit(failures == 0 ? 0 : 1)
    }
}
