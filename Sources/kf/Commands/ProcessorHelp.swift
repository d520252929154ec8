/// What `-p` understands, explained.
enum ProcessorHelp {
    static let text = """
        A processor is NAME:ARGUMENTS; give several -p, or join them with |>. Colours
        are #rgb, #rrggbb or #rrggbbaa.

        \(TextColumns.rows(rows, leftWidth: 30).joined(separator: "\n"))

        Example: kf fetch cat.jpg -p 'crop:200x200|>round-corner:20' -o cat.png
        """

    static let rows: [(left: String, right: String)] = [
        ("resize:WxH[,none|fit|fill]", "Stretch to, fit into or fill the size; Wx and xH keep the aspect"),
        ("downsample:WxH", "Make smaller until the longest side is the longer of the two; never larger"),
        ("crop:WxH[,anchor=AXxAY]", "Cut out; the anchor is 0.5x0.5, or a name such as center or top-left"),
        ("pad:WxH,COLOUR", "Put centred on a canvas of that size"),
        ("rotate:90|180|270", "Clockwise"),
        ("flip:h|v", "Mirror left and right, or top and bottom"),
        ("blur:RADIUS", "Three box blurs, which come close to a Gaussian"),
        ("sharpen:SIGMA", "Unsharp mask"),
        (
            "round-corner:R[,corners=tl+tr+bl+br][,size=WxH][,background=COLOUR]",
            "Cut the corners round; R in pixels, or 0.25w, 0.5h"
        ),
        ("border:WIDTH[,COLOUR][,radius=R][,corners=...]", "A stroke inside the edge"),
        ("overlay:COLOUR[,fraction=0.5]", "The colour over the image; fraction of the image stays"),
        ("tint:COLOUR", "As much of the colour as it is opaque"),
        ("color:[brightness=0][,contrast=1][,saturation=1][,ev=0]", "Brightness, contrast, saturation, exposure"),
        ("black-white", "Without saturation, and brighter"),
        ("grayscale", "Without saturation"),
        (
            "blend:MODE[,alpha=1][,background=COLOUR]",
            "The image onto the background; normal, multiply, screen, overlay, darken, lighten, color-dodge, "
                + "color-burn, soft-light, hard-light, difference, exclusion, hue, saturation, color, luminosity, "
                + "clear, copy, source-in, source-out, source-atop, destination-over, destination-in, "
                + "destination-out, destination-atop, xor, plus-darker, plus-lighter"
        ),
    ]
}
