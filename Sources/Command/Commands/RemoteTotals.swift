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
        RemoteSettings.each(layers, common) { layer throws(KingfisherError) in
            let counted = Mutex(RemoteTotals(name: layer.name))
            try await layer.list { blob in counted.withLock { $0.add(blob) } }
            counted.withLock { $0 }.print(common)
            return .success
        }
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
