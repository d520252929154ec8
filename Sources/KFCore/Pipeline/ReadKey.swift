import KFStorage

/// Calls with equal keys share one reading of a provider.
struct ReadKey: Hashable, Sendable {
    let key: EntryKey
    let inspector: ImageInspector
    let cache: ObjectIdentifier
}
