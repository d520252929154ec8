import KFCore
import Synchronization

/// The counts of `kf cache stat --remote`.
struct RemoteTotals: Sendable {
    let name: String
    var entries: Int64 = 0
    var entryBytes: Int64 = 0
    var objects: Int64 = 0
    var objectBytes: Int64 = 0

    mutating func add(_ blob: CacheLayerBlob) {
        switch blob.kind {
        case .entry:
            entries += 1
            entryBytes &+= blob.bytes
        case .object:
            objects += 1
            objectBytes &+= blob.bytes
        }
    }

    /// Counts what each remote has, and prints it.
    static func print(_ layers: [any CacheLayer], _ common: CommonSettings) -> ExitStatus {
        Blocking.wait {
            var status = ExitStatus.success
            for layer in layers {
                let counter = Counter(layer.name)
                do throws(KingfisherError) {
                    try await layer.list { counter.add($0) }
                    counter.totals.print(common)
                } catch {
                    common.report(error, for: nil)
                    status.raise(to: error.status)
                }
                layer.shutdown()
            }
            return status
        }
    }

    private final class Counter: Sendable {
        private let counted: Mutex<RemoteTotals>

        init(_ name: String) { counted = Mutex(RemoteTotals(name: name)) }

        var totals: RemoteTotals { counted.withLock { $0 } }

        func add(_ blob: CacheLayerBlob) { counted.withLock { $0.add(blob) } }
    }

    private func print(_ common: CommonSettings) {
        if common.json { return Terminal.print(JSONObject(self, Self.fields).json) }
        let rows = [
            "\(EntryText.count(Int(entries), "entry", "entries")), \(ByteText.bytes(entryBytes))",
            "\(EntryText.count(Int(objects), "object")), \(ByteText.bytes(objectBytes))",
        ]
        Terminal.print("\(Terminal.visible(name)): \(rows.joined(separator: "; "))")
    }

    static let fields: [JSONField<RemoteTotals>] = [
        JSONField(
            "remote",
            "With --remote, an object for each: its name, the numbers of its entries and objects, and "
                + "their sizes."
        ) { $0.name },
        JSONField("entries", nil) { $0.entries }, JSONField("entry_bytes", nil) { $0.entryBytes },
        JSONField("objects", nil) { $0.objects }, JSONField("object_bytes", nil) { $0.objectBytes },
    ]
}
