import KFCore
import Synchronization

/// `kf cache dupes`: prints the groups of equal images and of images that look alike.
enum CacheDuplicatesCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let common = try CommonSettings(arguments)
        let distance = try arguments[Options.distance]
        return common.onCache(access: .readOnly) { cache throws(KingfisherError) in
            let counts = Mutex((equal: 0, alike: 0))
            let images = try await cache.duplicates(distance: distance) { group in
                counts.withLock { if group.isEqual { $0.equal += 1 } else { $0.alike += 1 } }
                print(group, common)
                return !Terminal.isClosed
            }
            let summary = counts.withLock { (images: images ?? 0, equal: $0.equal, alike: $0.alike) }
            if common.json {
                Terminal.print(JSONObject(summary: summary, Self.summary).json)
            } else if !common.quiet, !Terminal.isClosed {
                let hint = summary.images == 0 ? "; 'kf fetch' and 'kf prefetch' add hashes with --measure dhash" : ""
                Terminal.printError(
                    "kf: \(EntryText.count(summary.images, "image")) with a hash: "
                        + "\(EntryText.count(summary.equal, "group")) of equal images, \(summary.alike) of similar ones\(hint)"
                )
            }
            return .success
        }
    }

    private static func print(_ group: DuplicateGroup, _ common: CommonSettings) {
        if common.json { return Terminal.print(JSONObject(group, fields).json) }
        Terminal.print(group.isEqual ? "equal:" : "similar:")
        for member in group.members {
            let facts = member.entry?.facts
            let columns: [(text: String, width: Int)] = [
                (group.isEqual ? "" : "\(member.distance)", 3), (facts.map { ByteText.bytes($0.bytes) } ?? "-", 9),
                (facts?.pixels ?? "-", 12),
            ]
            let row = columns.map { String(repeating: " ", count: max(0, $0.width - $0.text.count)) + $0.text }.joined()
            Terminal.print("\(row)  \(EntryText.name(EntryName(key: member.key), whole: common.verbose))")
        }
    }

    static let fields: [JSONField<DuplicateGroup>] = [
        JSONField("kind", "equal (the originals have the same bytes) or similar.") { $0.isEqual ? "equal" : "similar" },
        JSONField(
            "images",
            "key, url, path, bytes, width, height and sha256 of each image, as in cache ls: of the original, or of the largest "
                + "image made from it; null when none is cached any more. dhash is its hash, and distance the number of bits "
                + "in which that differs from the first image's."
        ) { $0.members.map { JSONObject(part: $0, members) } },
    ]

    private static let members: [JSONField<DuplicateGroup.Member>] =
        [
            JSONField("key", nil) { $0.key }, JSONField("url", nil) { $0.entry.map { $0.url ?? $0.name.key } },
            JSONField("path", nil) { $0.entry?.path },
        ] + CommonFields.facts.filter { !["frames", "decodable"].contains($0.name) }.map { $0.of { $0.entry?.facts } }
        + [
            JSONField("dhash", nil) { ImageDescription.text(ofHash: $0.dhash) },
            JSONField("distance", nil) { $0.distance },
        ]

    static let summary: [JSONField<(images: Int, equal: Int, alike: Int)>] = [
        JSONField("images", "The number of images with a hash, and of groups of each kind.") { $0.images },
        JSONField("equal", nil) { $0.equal }, JSONField("similar", nil) { $0.alike },
    ]
}
