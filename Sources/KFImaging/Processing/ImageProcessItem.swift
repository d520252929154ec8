/// What a processor is given: an image, or the bytes of one that it may decode as suits it.
public enum ImageProcessItem: Sendable {
    /// Decoded already.
    case image(Image)
    /// The bytes of an image file.
    case data([UInt8])

    /// The image, decoded if need be.
    ///
    /// `minimumSize` gives the size that is needed, going by the header; the picture may then be decoded smaller than
    /// it is, but not smaller than that. Nil asks for all of it.
    public func image(
        _ options: DecodeOptions, minimumSize: ((ImageInfo) -> PixelSize?)? = nil
    ) throws(ImagingError) -> Image {
        switch self {
        case .image(let image): return image
        case .data(let bytes):
            var options = options
            if let minimumSize {
                let info = try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
                    try ImageProbe.probe(UnsafeRawBufferPointer(buffer), limits: options.limits)
                }
                options.minimumSize = minimumSize(info)
            }
            return try ImageDecoder.decode(bytes, options: options)
        }
    }

    /// The image with every frame changed, decoded if need be. Of an animation that is still data no more is held than
    /// the results.
    public func image(
        _ options: DecodeOptions, each change: (Bitmap) throws(ImagingError) -> Bitmap
    ) throws(ImagingError) -> Image {
        switch self {
        case .image(let image):
            return try Allowance.within(options.limits, fileBytes: nil) { () throws(ImagingError) in
                try image.mapBitmaps(change)
            }
        case .data(let bytes):
            return try withoutActuallyEscaping(change) { (change) throws(ImagingError) in
                try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
                    try ImageDecoder.decode(UnsafeRawBufferPointer(buffer), options: options, each: change)
                }
            }
        }
    }
}

extension ImageProcessItem {
    /// The image resampled to a size that follows from its own. What is still data is decoded no larger than that
    /// needs.
    func image(
        _ options: DecodeOptions, resizedTo target: (PixelSize) -> PixelSize
    ) throws(ImagingError) -> Image {
        switch self {
        case .image(let image):
            let size = target(PixelSize(width: image.width, height: image.height))
            try options.limits.check(width: size.width, height: size.height, frames: image.frames.count)
            return try Allowance.within(options.limits, fileBytes: nil) { () throws(ImagingError) in
                try image.mapBitmaps { (bitmap) throws(ImagingError) in try Resampler.resize(bitmap, to: size) }
            }
        case .data(let bytes):
            return try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
                let bytes = UnsafeRawBufferPointer(buffer)
                let info = try ImageProbe.probe(bytes, limits: options.limits)
                var options = options
                options.exactSize = target(PixelSize(width: info.width, height: info.height))
                return try ImageDecoder.decode(bytes, options: options)
            }
        }
    }
}

extension ImageProcessItem {
    /// The same as `image(_:each:)` for a change that may make a coloured picture of a grey one. A grey one with a
    /// profile is converted to sRGB first, as the profile has nothing to say of what it becomes.
    func image(
        _ options: DecodeOptions, coloring: Bool, each change: (Bitmap) throws(ImagingError) -> Bitmap
    ) throws(ImagingError) -> Image {
        let item = coloring ? try withoutGrayProfile(options) : self
        return try item.image(options, each: change).withFittingProfile
    }

    private func withoutGrayProfile(_ options: DecodeOptions) throws(ImagingError) -> ImageProcessItem {
        let image: Image
        switch self {
        case .image(let decoded): image = decoded
        case .data(let bytes):
            let reader = try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
                try ContentKind.reader(of: UnsafeRawBufferPointer(buffer))
            }
            // What is decoded in colour may be an animation, which is changed frame by frame.
            guard reader.decodesGray else { return self }
            image = try ImageDecoder.decode(bytes, options: options)
        }
        return .image(image.bitmap.format.isGray ? try image.convertedToSRGB() : image)
    }
}
