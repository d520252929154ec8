import KFStorage
import Synchronization

/// The originals that their origins have sent or confirmed in a run that revalidates. The run does not ask for them again.
package final class ConfirmedOriginals: Sendable {
    private let places = Mutex(RecentValues<Int64>())

    package init() {}

    func insert(_ key: EntryKey) { places.withLock { $0.insert(key.id) } }

    func contains(_ key: EntryKey) -> Bool { places.withLock { $0.contains(key.id) } }
}
