/// The animation of a moov box: the track of the colours, with or without one of alpha.
struct AVIFTracks {
    /// Nil without a track of pictures.
    private(set) var color: AVIFTrack?
    private(set) var alpha: AVIFTrack?
    /// The boxes of the tracks that the picture does not need, such as depth and sound.
    private(set) var others: [ISOBox]

    /// Reads the tracks whose pictures are `coded` in one of these ways.
    init(
        _ bytes: UnsafeRawBufferPointer, moov: Range<Int>, coded: [FourCharacters] = ["av01"]
    ) throws(ImagingError) {
        var boxes: [ISOBox] = []
        var tracks: [(track: AVIFTrack, box: Int)] = []
        try bytes.forEachBox(in: moov) { (box) throws(ImagingError) in
            guard box.kind == "trak" else { return }
            let track = try AVIFTrack(bytes, box.body, coded)
            if track.identifier != 0, track.isCoded, track.frames > 0 { tracks.append((track, boxes.count)) }
            boxes.append(box)
        }
        others = boxes
        guard let color = tracks.first(where: { $0.track.master == 0 }) else { return }
        // Encoders before 2021 did not state what an auxiliary track is: they wrote alpha.
        let alpha = tracks.first { $0.track.master == color.track.identifier && $0.track.properties.isAlpha != false }
        (self.color, self.alpha) = (color.track, alpha?.track)
        others = boxes.indices.filter { $0 != color.box && $0 != alpha?.box }.map { boxes[$0] }
    }

    /// Returns an upper estimate of the mentions of items in the meta boxes of tracks.
    static func mentions(_ bytes: UnsafeRawBufferPointer, moov: Range<Int>) throws(ImagingError) -> Int {
        var count = 0
        try bytes.forEachBox(in: moov) { (box) throws(ImagingError) in
            guard box.kind == "trak" else { return }
            try bytes.forEachBox(in: box.body) { (box) throws(ImagingError) in
                if box.kind == "meta" { count += try AVIFItems.mentions(bytes, meta: box.body) }
            }
        }
        return count
    }
}

/// A track of pictures.
struct AVIFTrack {
    private(set) var properties = AVIFProperties()
    /// 0 without a header.
    private(set) var identifier = 0
    /// The identifier of the track that this one is auxiliary to; 0 for none.
    private(set) var master = 0
    /// Whether its pictures are coded as the reader asks for.
    private(set) var isCoded = false
    private(set) var frames = 0
    /// Whether the file holds the bytes of all frames.
    private(set) var isComplete = true
    /// The number of times that the animation plays; 0 is forever.
    private(set) var loopCount = 0
    /// The steps that libavif takes to find the places of the frames.
    private(set) var steps = 0

    private let bytes: UnsafeRawBufferPointer
    private let coded: [FourCharacters]
    /// The duration of all plays; nil is unlimited.
    private var duration: Int?
    /// The boxes that state the places of the frames, by their kinds.
    private var tables: [FourCharacters: Range<Int>] = [:]

    init(_ bytes: UnsafeRawBufferPointer, _ track: Range<Int>, _ coded: [FourCharacters]) throws(ImagingError) {
        (self.bytes, self.coded) = (bytes, coded)
        var edits: Range<Int>?
        try read(track, &edits, depth: 0)
        if let edits { readEdits(edits) }
        readSamples()
    }

    private mutating func read(_ part: Range<Int>, _ edits: inout Range<Int>?, depth: Int) throws(ImagingError) {
        try bytes.forEachBox(in: part) { (box) throws(ImagingError) in
            switch box.kind {
            case "tkhd": readHeader(box.body)
            case "tref":
                try bytes.forEachBox(in: box.body) { (box) in
                    if box.kind == "auxl", box.body.count >= 4 {
                        master = bytes.bigEndian32(at: box.body.lowerBound) ?? 0
                    }
                }
            case "edts": try bytes.forEachBox(in: box.body) { (box) in if box.kind == "elst" { edits = box.body } }
            case "mdia", "minf", "stbl":
                // They are nested in this order; deeper boxes of these names mean nothing.
                if depth < 3 { try read(box.body, &edits, depth: depth + 1) }
            case "stsd": try readDescription(box.body)
            case "stsz", "stsc", "stco", "co64": tables[box.kind] = box.body
            default: break
            }
        }
    }

    private mutating func readHeader(_ body: Range<Int>) {
        var cursor = ISOCursor(bytes, body)
        guard let version = cursor.readVersion()?.version, cursor.skip(version == 1 ? 16 : 8),
            let identifier = cursor.read(4), cursor.skip(4)
        else { return }
        let size = version == 1 ? 8 : 4
        // All ones, which is more than fits, means that the duration is not known or not limited.
        duration = size <= cursor.left ? cursor.read(size).flatMap { $0 == 0xFFFF_FFFF ? nil : $0 } : nil
        // Behind the duration: 16 bytes of layer, volume and reserved ones, then a matrix of 36.
        var rest = ISOCursor(bytes, min(body.lowerBound + (version == 1 ? 36 : 24), body.upperBound)..<body.upperBound)
        guard rest.skip(52), let width = rest.read(4), let height = rest.read(4) else { return }
        self.identifier = identifier
        properties.size = PixelSize(width: width >> 16, height: height >> 16)
    }

    /// Reads the first description of such pictures. The properties follow 78 bytes of a visual sample entry.
    private mutating func readDescription(_ body: Range<Int>) throws(ImagingError) {
        guard body.count >= 8 else { return }
        try bytes.forEachBox(in: body.lowerBound + 8..<body.upperBound) { (entry) throws(ImagingError) in
            guard coded.contains(entry.kind), !isCoded else { return }
            isCoded = true
            guard entry.body.count >= 78 else { return }
            let size = properties.size
            try bytes.forEachBox(in: entry.body.lowerBound + 78..<entry.body.upperBound) { (box) in
                properties.read(bytes, box)
            }
            properties.size = size
        }
    }

    /// An edit list states a repetition by its flag, and the number of plays by the two durations.
    private mutating func readEdits(_ body: Range<Int>) {
        var cursor = ISOCursor(bytes, body)
        guard let (version, flags) = cursor.readVersion(), let count = cursor.read(4), count > 0 else { return }
        guard flags & 1 == 1 else {
            loopCount = 1
            return
        }
        guard let segment = cursor.read(version == 1 ? 8 : 4), segment > 0, let duration else { return }
        let plays = duration / segment + (duration % segment == 0 ? 0 : 1)
        // A duration of 2^63 - 1 is another one without an end.
        loopCount = plays > Int(Int32.max) ? 0 : max(1, plays)
    }

    /// Counts the frames and compares their places with the length of the file.
    private mutating func readSamples() {
        let offsetSize = tables["stco"] == nil ? 8 : 4
        var sizes = ISOCursor(bytes, tables["stsz"] ?? 0..<0)
        var runs = ISOCursor(bytes, tables["stsc"] ?? 0..<0)
        var chunks = ISOCursor(bytes, tables["stco"] ?? tables["co64"] ?? 0..<0)
        guard sizes.skip(4), let fixedSize = sizes.read(4), sizes.skip(4), runs.skip(4), let runCount = runs.read(4),
            chunks.skip(4), let chunkCount = chunks.read(4), var run = Run(&runs)
        else { return }
        var next = Run(&runs)
        steps = min(chunkCount, chunks.left / offsetSize).multipliedReportingOverflow(by: min(runCount, runs.left)).0
        for chunk in 1...max(chunkCount, 1) {
            guard let offset = chunks.read(offsetSize) else { return }
            while let later = next, later.firstChunk <= chunk {
                run = later
                next = Run(&runs)
            }
            var length = 0
            if fixedSize > 0 {
                let (total, overflow) = fixedSize.multipliedReportingOverflow(by: run.samples)
                length = overflow ? .max : total
                frames = min(frames + run.samples, Int(Int32.max))
            } else {
                for _ in 0..<run.samples {
                    guard let size = sizes.read(4) else { break }
                    length += size
                    frames += 1
                }
            }
            if offset > bytes.count || length > bytes.count - offset { isComplete = false }
        }
    }

    /// A run of chunks with the same number of samples.
    private struct Run {
        var firstChunk: Int
        var samples: Int

        init?(_ cursor: inout ISOCursor) {
            guard let firstChunk = cursor.read(4), let samples = cursor.read(4), cursor.skip(4) else { return nil }
            (self.firstChunk, self.samples) = (firstChunk, samples)
        }
    }
}
