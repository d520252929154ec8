import Dispatch
import Glibc
import Synchronization

/// SIGINT and SIGTERM: the first asks the work to end, the second ends the process.
final class Interrupts {
    private final class Record: Sendable {
        let signal = Atomic<Int32>(0)
    }

    private let record = Record()
    private var sources: [any DispatchSourceSignal] = []

    /// `first` and `second` run on a thread of their own; the process exits after `second`.
    init(first: @escaping @Sendable () -> Void, second: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "kf.signals")
        for number in [SIGINT, SIGTERM] {
            // The source only sees signals that do not end the process first.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [record] in
                if record.signal.compareExchange(expected: 0, desired: number, ordering: .relaxed).exchanged {
                    first()
                } else {
                    second()
                    // The network's thread may be in the middle of anything: no destructors.
                    _exit(128 + number)
                }
            }
            source.resume()
            sources.append(source)
        }
    }

    /// What the process ends with because of a signal; nil when there was none.
    var status: ExitStatus? { ExitStatus(rawValue: 128 + record.signal.load(ordering: .relaxed)) }
}
