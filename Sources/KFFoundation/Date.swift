import Foundation
import KFCore

extension Timestamp {
    /// Creates a timestamp from a date, rounded to milliseconds. A date out of range becomes the nearest valid
    /// timestamp.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        self.init(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min))
    }

    /// The timestamp as a date.
    public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension StorageExpiration {
    /// Returns an expiration at this date.
    public static func date(_ date: Date) -> StorageExpiration { .date(Timestamp(date)) }
}
