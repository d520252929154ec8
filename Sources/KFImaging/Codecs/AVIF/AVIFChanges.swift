/// The changes of a file's boxes after which libavif reads the picture that kf reads in them.
///
/// libavif 0.11 puts the cells of a grid into the order in which the boxes mention them first, takes every auxiliary
/// track for alpha, and refuses a track without a size and a box that reaches to the end of the file.
struct AVIFChanges {
    private var words: [(place: Int, word: UInt32)] = []
    /// The boxes behind the last one of the file. The places of all other bytes stay, because boxes refer to them.
    private var added: [UInt8] = []

    /// Makes libavif pass over a box.
    mutating func hide(_ box: ISOBox) { words.append((box.start + 4, AVIFChanges.word("free"))) }

    /// States the length of a box that reaches to the end of the file.
    mutating func state(lengthOf box: ISOBox, in bytes: UnsafeRawBufferPointer) {
        if bytes.bigEndian32(at: box.start) == 0, let length = UInt32(exactly: box.body.upperBound - box.start) {
            words.append((box.start, length.bigEndian))
        }
    }

    /// Replaces a meta box by one with these references, which come in front of all other mentions of items.
    mutating func replace(
        _ meta: ISOBox, in bytes: UnsafeRawBufferPointer, references: [AVIFReference]
    ) throws(ImagingError) {
        hide(meta)
        var (first, others): ([UInt8], [UInt8]) = ([], [])
        try bytes.forEachBox(in: meta.body.lowerBound + 4..<meta.body.upperBound) { box in
            switch box.kind {
            case "hdlr": first += bytes[box.start..<box.body.upperBound]
            case "iref": break
            default: others += bytes[box.start..<box.body.upperBound]
            }
        }
        let version = bytes[meta.body.lowerBound..<meta.body.lowerBound + 4]
        added += AVIFChanges.box("meta", version + first + AVIFReference.box(references) + others)
    }

    /// Returns a changed copy of the file; nil if nothing changes.
    ///
    /// - Throws: `memoryLimit`, `outOfMemory`.
    func applied(to bytes: UnsafeRawBufferPointer) throws(ImagingError) -> AVIFCopy? {
        guard !words.isEmpty else { return nil }
        return try AVIFCopy(count: bytes.count + added.count) { copy in
            copy.copyMemory(from: bytes)
            for (place, word) in words { copy.storeBytes(of: word, toByteOffset: place, as: UInt32.self) }
            for (offset, byte) in added.enumerated() { copy[bytes.count + offset] = byte }
        }
    }

    static func box(_ kind: StaticString, _ body: [UInt8]) -> [UInt8] {
        bigEndian(body.count + 8, 4) + UnsafeBufferPointer(start: kind.utf8Start, count: 4) + body
    }

    private static func word(_ kind: StaticString) -> UInt32 {
        UnsafeRawPointer(kind.utf8Start).loadUnaligned(as: UInt32.self)
    }
}

/// A reference between items of a meta box.
struct AVIFReference {
    let kind: StaticString
    let item: Int
    let others: [Int]

    /// The iref box of references.
    static func box(_ references: [AVIFReference]) -> [UInt8] {
        let isWide = references.contains { max($0.item, $0.others.max() ?? 0) > 0xFFFF }
        let size = isWide ? 4 : 2
        let boxes = references.flatMap { reference in
            let counted = bigEndian(reference.item, size) + bigEndian(reference.others.count, 2)
            return AVIFChanges.box(
                reference.kind, counted + reference.others.flatMap { bigEndian($0, size) })
        }
        return AVIFChanges.box("iref", [isWide ? 1 : 0, 0, 0, 0] + boxes)
    }
}

/// The memory of a changed file.
final class AVIFCopy {
    let bytes: UnsafeRawBufferPointer
    private let memory: UnsafeMutablePointer<UInt8>

    init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) throws(ImagingError) {
        memory = try Scratch.take(UInt8.self, count)
        fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
        bytes = UnsafeRawBufferPointer(start: memory, count: count)
    }

    deinit { Scratch.give(memory) }
}
