import Foundation
import KFCore

extension Timestamp {
    /// The moment of a date, in whole milliseconds; a date beyond what can be counted is the nearest that can.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        self.init(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min))
    }

    /// The moment as a date.
    public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension StorageExpiration {
    /// Until this moment.
    public static func date(_ date: Date) -> StorageExpiration { .date(Timestamp(date)) }
}
