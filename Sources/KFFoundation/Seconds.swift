import Foundation
import KFCore

/// Times of Kingfisher in seconds. A number without a type of its own, such as 30, is a number of seconds; every other use is
/// a `Duration`.
///
/// The properties are those of a protocol, because a property of an extension would hide the `Duration` of the same name.
public protocol TimesInSeconds {}

extension MemoryStorageConfig: TimesInSeconds {}

extension TransferOptions: TimesInSeconds {}

extension TimesInSeconds where Self == MemoryStorageConfig {
    /// The time between two sweeps that remove expired images, in seconds.
    @_disfavoredOverload
    public var cleanInterval: TimeInterval {
        get { (cleanInterval as Duration) / .seconds(1) }
        set { cleanInterval = Duration.seconds(newValue) }
    }
}

extension TimesInSeconds where Self == TransferOptions {
    /// ``TransferOptions/timeout`` in seconds; nil is no limit.
    @_disfavoredOverload
    public var timeout: TimeInterval? {
        get { (timeout as Duration?).map { $0 / .seconds(1) } }
        set { timeout = newValue.map { Duration.seconds($0) } }
    }

    /// ``TransferOptions/maxTime`` in seconds; nil is no limit.
    @_disfavoredOverload
    public var maxTime: TimeInterval? {
        get { (maxTime as Duration?).map { $0 / .seconds(1) } }
        set { maxTime = newValue.map { Duration.seconds($0) } }
    }
}
