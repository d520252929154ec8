import Synchronization

/// The decoding of a damaged file as far as it goes (``DecodeLimits/toleratesDamage``).
///
/// A reader calls `forgive` with the fault that it has met, and leaves the rest of the picture empty. The first fault of
/// an image becomes its warning. Readers of formats that have no use for half a picture never call it.
enum Tolerance {
    private final class Fault: Sendable {
        let first = Mutex<ImagingError?>(nil)
    }

    @TaskLocal private static var inForce: Fault?

    static var isInForce: Bool { inForce != nil }

    /// Notes a fault of the file, behind which the rest of the picture stays empty. Throws any other error, and every
    /// error when damage is not tolerated.
    static func forgive(_ error: ImagingError) throws(ImagingError) {
        guard let inForce, error.isFault else { throw error }
        inForce.first.withLock { $0 = $0 ?? error }
    }

    /// Runs work within the tolerance of the limits. Returns its result, and the warning of the first fault.
    static func run<Value>(
        _ limits: DecodeLimits, _ work: () throws(ImagingError) -> Value
    ) throws(ImagingError) -> (value: Value, warning: ImageWarning?) {
        guard limits.toleratesDamage else { return (try work(), nil) }
        let fault = Fault()
        let result = $inForce.withValue(fault) { Result { () throws(ImagingError) in try work() } }
        return (try result.get(), fault.first.withLock { $0 }.map { .damaged(reason: $0.message) })
    }
}

extension ImagingError {
    /// Whether the file is damaged, in a way that may leave a part of it to decode.
    package var isFault: Bool {
        switch self {
        case .truncated, .corrupt: true
        default: false
        }
    }
}

/// The rows that a reader hands out behind a fault of the file.
struct RestOfPicture {
    private(set) var isEmpty = false
    private var hasRows = false

    /// Reads rows with `read`. Behind a tolerated fault the rows get the value `empty` in each byte; nil leaves them as
    /// they are. A picture without a single row is an error.
    mutating func read(
        _ rows: UnsafeMutableRawPointer, bytesPerRow: Int, count: Int, empty: UInt8?,
        _ read: (_ rows: UnsafeMutableRawPointer, _ count: Int) throws(ImagingError) -> Void
    ) throws(ImagingError) {
        guard Tolerance.isInForce else { return try read(rows, count) }
        for index in 0..<count {
            let row = rows + index * bytesPerRow
            if !isEmpty {
                do throws(ImagingError) {
                    try read(row, 1)
                    hasRows = true
                    continue
                } catch {
                    guard hasRows else { throw error }
                    try Tolerance.forgive(error)
                    isEmpty = true
                }
            }
            if let empty { row.initializeMemory(as: UInt8.self, repeating: empty, count: bytesPerRow) }
        }
    }
}
