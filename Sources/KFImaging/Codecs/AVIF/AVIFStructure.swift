/// The boxes of an AVIF, read without libavif.
///
/// As in libavif, the major brand decides between the primary item and the animation of a file with both.
struct AVIFStructure: FileStructure {
    private(set) var properties: AVIFProperties
    private(set) var hasAlpha: Bool
    private(set) var frames = 1
    /// The number of times an animation plays; 0 is forever.
    private(set) var loopCount = 0
    /// Whether the picture comes from a track, also when the track has one frame.
    private var isSequence = false
    /// Whether the picture is a grid of others.
    private(set) var isGrid = false
    /// Whether the file holds all bytes of the picture.
    private var isComplete: Bool
    /// An upper estimate of the bytes that libavif takes for the boxes.
    private var boxMemory: Int
    /// The AV1 data of the picture, of its cells and of their alpha; empty for a track.
    private(set) var coded: [AV1Stream] = []
    /// The reason why libavif would take very long to read the boxes, or fail; nil for any file of an encoder.
    private(set) var undecodable: String?
    /// The bytes that libavif reads in place of the file.
    private(set) var changes = AVIFChanges()
    /// The same to read alpha as a picture of its own; nil for alpha that libavif finds.
    private(set) var alphaChanges: AVIFChanges?

    /// Reads the boxes as far as the bytes reach.
    ///
    /// - Throws: `truncated` without the boxes that describe the picture, `corrupt` without a picture.
    init(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent) throws(ImagingError) {
        var (meta, moov): (ISOBox?, ISOBox?)
        // libavif reads the items of every meta box, also beside a track and in it.
        var (mentions, boxBytes) = (0, 0)
        let isWhole = try bytes.forEachBox(in: 0..<bytes.count) { (box) throws(ImagingError) in
            switch box.kind {
            case "meta":
                meta = meta ?? box
                mentions += try AVIFItems.mentions(bytes, meta: box.body)
            case "moov":
                moov = moov ?? box
                mentions += try AVIFTracks.mentions(bytes, moov: box.body)
            default: return
            }
            boxBytes += box.body.count
        }
        boxMemory = boxBytes * AVIFStructure.memoryOfByte
        func complete(_ box: ISOBox?) throws(ImagingError) -> ISOBox {
            guard let box, box.isComplete else { throw .truncated(.avif) }
            return box
        }
        for box in [meta, moov] {
            if let box { changes.state(lengthOf: box, in: bytes) }
        }
        // libavif reads the tracks beside a still picture, too.
        let tracks = try AVIFTracks(bytes, moov: moov?.body ?? 0..<0)
        for track in tracks.others { changes.hide(track) }
        // libavif looks for tracks only where a brand states them.
        let isStill =
            bytes.holds("avif", at: 8) || !bytes.holds("avis", at: 8) && (moov == nil || !bytes.hasISOBrand(["avis"]))
        if isStill {
            let meta = try complete(meta)
            let items = try AVIFItems(bytes, meta: meta.body)
            properties = items.properties
            hasAlpha = items.hasAlpha
            isGrid = items.isGrid
            isComplete = items.hasPicture && (items.hasOthers || isWhole)
            boxMemory += items.scattered
            coded = items.coded
            // libavif allocates memory for extents that take no bytes of the file.
            if items.extentCount > 1 << 17 { undecodable = "more than 131072 extents" }
            // A layer is a frame; libavif decodes all frames before the one that it wants, in one call.
            if items.mostFrames > 16 { undecodable = "more than 16 frames in a picture" }
            if items.hasTooManyUnits { undecodable = "more than a million units of AV1" }
            if items.repeatsCells { undecodable = "a grid with one cell in two places" }
            if !items.alphaReferences.isEmpty {
                var alpha = changes
                try alpha.replace(meta, in: bytes, references: items.alphaReferences)
                alphaChanges = alpha
                boxMemory *= 2
            }
            if !items.references.isEmpty { try changes.replace(meta, in: bytes, references: items.references) }
        } else {
            _ = try complete(moov)
            guard let color = tracks.color else { throw .corrupt(.avif, reason: "no track of pictures") }
            properties = color.properties
            hasAlpha = tracks.alpha != nil
            isSequence = true
            frames = color.frames
            loopCount = color.loopCount
            isComplete = color.isComplete && tracks.alpha?.isComplete ?? true
            boxMemory += max(frames, tracks.alpha?.frames ?? 0) * AVIFStructure.memoryOfSample
            if max(color.steps, tracks.alpha?.steps ?? 0) > 1 << 28 {
                undecodable = "a table of samples that takes too long to read"
            }
        }
        // libavif searches all items for each mention, which takes a second for so many.
        if mentions > 1 << 16 { undecodable = "more than 65536 mentions of items" }
        if properties.size.width == 0 || properties.size.height == 0 { throw .corrupt(.avif, reason: "no size") }
    }

    /// libavif keeps a property of about 100 bytes for each association, which takes 1 byte of the file.
    private static let memoryOfByte = 128
    /// libavif keeps 56 bytes for each frame of each track.
    private static let memoryOfSample = 128

    var info: ImageInfo {
        let (x, y) = properties.visible
        return ImageInfo(
            format: .avif, stored: PixelSize(width: x.count, height: y.count), orientation: properties.orientation,
            frames: frames, hasAlpha: hasAlpha, colorModel: properties.isGray ? .gray : .rgb,
            bitDepth: properties.bitDepth)
    }

    func check() throws(ImagingError) -> [ImageWarning] {
        if !isComplete { throw .truncated(.avif) }
        return []
    }

    /// An upper estimate of what libavif and dav1d hold: the planes of one picture, of a grid's cells and of an
    /// animation's references.
    var libraryBytes: Int {
        // dav1d pads both sides to 128. Longer sides than 28 bits would overflow, and no machine has the memory.
        let pixels = (min(properties.size.width, 1 << 28) + 127) * (min(properties.size.height, 1 << 28) + 127)
        let bytesPerSample = properties.bitDepth > 8 ? 2 : 1
        // For each picture, dav1d keeps half a byte a pixel about blocks and filters.
        let color = (properties.samplesOfFour * bytesPerSample + 2) * pixels / 4
        let alpha = hasAlpha ? (4 * bytesPerSample + 2) * pixels / 4 : 0
        let pictures = isSequence && frames > 1 ? 10 : 1
        // The headers of the AV1 data say what dav1d takes, whatever the boxes say. libavif holds all cells of a grid
        // beside the picture that it makes of them.
        let boxes = (color + alpha) * pictures
        return (isGrid ? boxes + coded.bytes : max(boxes, coded.bytes)) + boxMemory + (4 << 20)
    }
}
